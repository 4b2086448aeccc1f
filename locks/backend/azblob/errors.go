package azblob

import (
	"cmp"
	"context"
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
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// errChanged says that a blob is not as it was read.
var errChanged = errors.New("the blob has changed")

// A loginError says that there is no access token.
type loginError struct {
	error
	late bool // because the time was up
}

func (e *loginError) Unwrap() error { return e.error }

// A cause is a kind of error with its own hint, or one that the recipe has to know.
type cause struct {
	is   func(error) bool
	kind caslease.Kind // 0: the request may have had an effect
	text string        // replaces the error's text; "": that is clear enough
	hint string
}

const (
	hintLogin  = "run az login, or set AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_STORAGE_CONNECTION_STRING"
	hintRole   = "the identity needs the role Storage Blob Data Contributor on the container, or a role with the data actions read, write and (for leaderrun forget) delete of Microsoft.Storage/storageAccounts/blobServices/containers/blobs; a SAS token needs the permissions rcwdl"
	hintSigned = "check the key or the SAS token, when the token ends, and this machine's clock"
	hintHost   = "check the network, and the spelling of the storage account"
	hintAlien  = "check endpoint=, and proxies on the way"
)

// known returns all causes in order: the first that matches an error counts.
func (s *store) known() []cause {
	create := "make it with: az storage container create --auth-mode login --account-name " + s.settings.account + " --name " + s.settings.container
	return []cause{
		{is: func(err error) bool { return errors.Is(err, errChanged) }, kind: caslease.Changed},
		{is: waited, kind: caslease.Unsent, text: "no access token was got in time", hint: hintLogin},
		{is: causes.Is[*loginError], kind: caslease.Denied, text: "no access token can be got", hint: hintLogin},
		{is: coded(bloberror.ContainerNotFound), kind: caslease.Refused, text: "the container does not exist", hint: create},
		{is: coded(bloberror.ContainerBeingDeleted, bloberror.ContainerDisabled), kind: caslease.Refused, hint: create},
		{is: coded(bloberror.ConditionNotMet, bloberror.BlobNotFound, bloberror.BlobAlreadyExists, bloberror.LeaseAlreadyPresent, bloberror.LeaseIsBreakingAndCannotBeAcquired, bloberror.LeaseIDMissing), kind: caslease.Changed},
		{is: coded(bloberror.LeaseIDMismatchWithLeaseOperation, bloberror.LeaseIDMismatchWithBlobOperation, bloberror.LeaseNotPresentWithLeaseOperation, bloberror.LeaseNotPresentWithBlobOperation, bloberror.LeaseLost, bloberror.LeaseIsBrokenAndCannotBeRenewed), kind: caslease.Ended},
		{is: coded(bloberror.ServerBusy), kind: caslease.Throttled},
		{is: coded(bloberror.MetadataTooLarge), kind: caslease.Refused, hint: "the service keeps 8 KiB of metadata for a blob; remove what is not leaderrun's from the lock's blob"},
		{is: coded(bloberror.AuthorizationFailure), kind: caslease.Denied, hint: "the firewall of the storage account may refuse this network; or " + hintRole},
		{is: coded(bloberror.AuthenticationFailed, bloberror.InvalidAuthenticationInfo), kind: caslease.Denied, hint: hintSigned},
		{is: coded("KeyBasedAuthenticationNotPermitted"), kind: caslease.Denied, hint: "the storage account accepts only logins: unset AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN and AZURE_STORAGE_CONNECTION_STRING"},
		{is: coded("BlobImmutableDueToPolicy", "BlobImmutableDueToLegalHold"), kind: caslease.Refused, hint: "use a container without an immutability policy and without a legal hold"},
		{is: status(http.StatusTooManyRequests), kind: caslease.Throttled},
		{is: status(http.StatusUnauthorized), kind: caslease.Denied, hint: hintLogin},
		{is: status(http.StatusForbidden), kind: caslease.Denied, hint: hintRole},
		{is: func(err error) bool { return causes.Is[*net.DNSError](err) && causes.Unreachable(err) }, kind: caslease.Unreachable, hint: hintHost},
		{is: causes.Is[*net.DNSError], hint: hintHost},
		{is: causes.Is[x509.UnknownAuthorityError], hint: "name a file with the CA in SSL_CERT_FILE"},
		{is: causes.Unreachable, kind: caslease.Unreachable, hint: hintHost + ", or endpoint= if it is given"},
		{is: saying("server gave HTTP response to HTTPS client"), hint: "the server does not speak TLS; write http:// in endpoint= if it is an emulator"},
		{is: alien, kind: caslease.Unsent, text: "something that is not Azure Blob Storage answered", hint: hintAlien},
		{is: status(http.StatusRequestTimeout)},
		{is: refused, kind: caslease.Refused},
	}
}

// Fault implements [caslease.Store]: the first cause that matches counts.
func (s *store) Fault(err error) caslease.Fault {
	for _, c := range s.known() {
		if c.is(err) {
			return caslease.Fault{Kind: c.kind, Text: cmp.Or(c.text, plain(err)), Hint: c.hint}
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return caslease.Fault{}
	}
	return caslease.Fault{Text: plain(err)} // no answer, or a 500
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
