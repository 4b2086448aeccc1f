package azblob

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/kit/proxy"
)

// errChanged says that a blob is not as it was read.
var errChanged = errors.New("the blob has changed")

// A loginError says that there is no access token.
type loginError struct {
	error
	late bool // because the time was up
}

func (e *loginError) Unwrap() error { return e.error }

const (
	hintLogin  = "run az login, or set AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_STORAGE_CONNECTION_STRING"
	hintRole   = "the identity needs the role Storage Blob Data Contributor on the container, or a role with the data actions read, write and (for leaderrun forget and doctor) delete of Microsoft.Storage/storageAccounts/blobServices/containers/blobs; a SAS token needs the permissions rcwdl"
	hintSigned = "check the key or the SAS token, when the token ends (sas-file= names a file in which it can be replaced), and this machine's clock"
	hintHost   = "check the network, and the spelling of the storage account"
	hintAlien  = "check endpoint=, and proxies on the way"

	textArchived = "the blob is in the archive tier, where it cannot be changed"
	hintArchived = "exclude the prefix from the rule that archives; and delete the blob: az storage blob delete, which the service refuses while the lock is held (tokens go on rising)"
)

// known returns all causes in order: the first that matches an error counts.
func (s *store) known() []causes.Cause {
	create := "make it with: az storage container create --auth-mode login --account-name " + s.settings.account + " --name " + s.settings.container
	return []causes.Cause{
		{Is: func(err error) bool { return errors.Is(err, errChanged) }, Kind: causes.Changed},
		{Is: waited, Kind: causes.Unsent, Text: "no access token was got in time", Hint: hintLogin},
		{Is: causes.Is[*loginError], Kind: causes.Denied, Text: "no access token can be got", Hint: hintLogin},
		{Is: coded(bloberror.ContainerNotFound), Kind: causes.Refused, Text: "the container does not exist", Hint: create},
		{Is: coded(bloberror.ContainerBeingDeleted, bloberror.ContainerDisabled), Kind: causes.Refused, Hint: create},
		{Is: coded(bloberror.ConditionNotMet, bloberror.BlobNotFound, bloberror.BlobAlreadyExists, bloberror.LeaseAlreadyPresent, bloberror.LeaseIsBreakingAndCannotBeAcquired, bloberror.LeaseIDMissing), Kind: causes.Changed},
		{Is: coded(bloberror.LeaseIDMismatchWithLeaseOperation, bloberror.LeaseIDMismatchWithBlobOperation, bloberror.LeaseNotPresentWithLeaseOperation, bloberror.LeaseNotPresentWithBlobOperation, bloberror.LeaseLost, bloberror.LeaseIsBrokenAndCannotBeRenewed), Kind: causes.Ended},
		{Is: coded(bloberror.ServerBusy), Kind: causes.Throttled},
		{Is: coded(bloberror.MetadataTooLarge), Kind: causes.Refused, Hint: "the service keeps 8 KiB of metadata for a blob; remove what is not leaderrun's from the lock's blob"},
		{Is: coded(bloberror.AuthorizationFailure), Kind: causes.Denied, Hint: "the firewall of the storage account may refuse this network; or " + hintRole},
		{Is: coded(bloberror.AuthenticationFailed, bloberror.InvalidAuthenticationInfo), Kind: causes.Denied, Hint: hintSigned},
		{Is: coded("KeyBasedAuthenticationNotPermitted"), Kind: causes.Denied, Hint: "the storage account accepts only logins: unset AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN and AZURE_STORAGE_CONNECTION_STRING"},
		{Is: coded("BlobImmutableDueToPolicy", "BlobImmutableDueToLegalHold"), Kind: causes.Refused, Hint: "use a container without an immutability policy and without a legal hold"},
		{Is: coded(bloberror.BlobArchived), Kind: causes.Refused, Text: textArchived, Hint: hintArchived},
		{Is: status(http.StatusTooManyRequests), Kind: causes.Throttled},
		{Is: status(http.StatusUnauthorized), Kind: causes.Denied, Hint: hintLogin},
		{Is: status(http.StatusForbidden), Kind: causes.Denied, Hint: hintRole},
		{Is: func(err error) bool { return causes.Is[*net.DNSError](err) && causes.NoConnection(err) }, Kind: causes.Unreachable, Hint: hintHost},
		{Is: causes.Is[*net.DNSError], Hint: hintHost},
		{Is: causes.Is[x509.UnknownAuthorityError], Hint: "name a file with the CA in SSL_CERT_FILE"},
		{Is: causes.NoConnection, Kind: causes.Unreachable, Hint: hintHost + ", or endpoint= if it is given"},
		{Is: saying("server gave HTTP response to HTTPS client"), Hint: "the server does not speak TLS; write http:// in endpoint= if it is an emulator"},
		{Is: alien, Kind: causes.Unsent, Text: "something that is not Azure Blob Storage answered", Hint: hintAlien},
		{Is: status(http.StatusRequestTimeout)},
		{Is: refused, Kind: causes.Refused},
	}
}

// Fault implements [caslease.Store].
func (s *store) Fault(err error) causes.Fault {
	f := causes.Of(err, plain(err), s.known(), causes.IsContext(err))
	if causes.Is[*url.Error](err) { // there was no answer
		f.Hint = proxy.Hint(f.Hint, s.settings.service)
	}
	return f
}

func coded(codes ...bloberror.Code) func(error) bool {
	return func(err error) bool { return bloberror.HasCode(err, codes...) }
}

func status(codes ...int) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*azcore.ResponseError](err)
		return ok && slices.Contains(codes, e.StatusCode)
	}
}

func waited(err error) bool {
	e, ok := errors.AsType[*loginError](err)
	return ok && e.late
}

// alien reports whether err is an answer that is not the service's, which has a code in
// each.
func alien(err error) bool {
	e, ok := errors.AsType[*azcore.ResponseError](err)
	return ok && e.StatusCode/100 <= 4 && e.RawResponse != nil && e.RawResponse.Header.Get("x-ms-error-code") == "" && e.RawResponse.Header.Get("x-ms-request-id") == ""
}

func refused(err error) bool {
	e, ok := errors.AsType[*azcore.ResponseError](err)
	return ok && e.StatusCode/100 <= 4
}

func saying(text string) func(error) bool {
	return func(err error) bool { return strings.Contains(err.Error(), text) }
}

// plain returns the text of an error without addresses: their query may have a SAS token.
func plain(err error) string {
	if e, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return locks.Printable(fmt.Sprintf("%s (HTTP %d)", cmp.Or(e.ErrorCode, http.StatusText(e.StatusCode), "no reason given"), e.StatusCode))
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return locks.Printable(e.Err.Error())
	}
	return locks.Printable(err.Error())
}
