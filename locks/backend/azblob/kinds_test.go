package azblob

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/leaderrun/leaderrun/locks/kit/causes"
)

// TestKinds checks the kinds of errors that the emulator does not produce.
func TestKinds(t *testing.T) {
	t.Parallel()
	answered := func(status int, code string) error {
		h := http.Header{"X-Ms-Request-Id": {"1"}}
		return &azcore.ResponseError{StatusCode: status, ErrorCode: code, RawResponse: &http.Response{Header: h}}
	}
	strange := &azcore.ResponseError{StatusCode: 404, RawResponse: &http.Response{}}
	for want, all := range map[causes.Kind][]error{
		causes.Unknown:     {answered(500, "OperationTimedOut"), answered(408, ""), io.EOF, &net.OpError{Op: "dial", Err: &net.DNSError{IsTimeout: true}}},
		causes.Changed:     {errChanged, answered(404, "BlobNotFound"), answered(412, "ConditionNotMet"), answered(409, "BlobAlreadyExists"), answered(409, "LeaseAlreadyPresent"), answered(412, "LeaseIdMissing"), answered(409, "LeaseIsBreakingAndCannotBeAcquired")},
		causes.Ended:       {answered(412, "LeaseLost"), answered(409, "LeaseIdMismatchWithLeaseOperation"), answered(412, "LeaseIdMismatchWithBlobOperation"), answered(409, "LeaseNotPresentWithLeaseOperation"), answered(412, "LeaseNotPresentWithBlobOperation"), answered(409, "LeaseIsBrokenAndCannotBeRenewed")},
		causes.Throttled:   {answered(503, "ServerBusy"), answered(429, "")},
		causes.Unsent:      {strange, &loginError{context.Canceled, true}},
		causes.Refused:     {answered(400, "MetadataTooLarge"), answered(404, "ContainerNotFound"), answered(409, "ContainerBeingDeleted"), answered(409, "BlobImmutableDueToPolicy"), answered(409, "BlobArchived"), answered(400, "InvalidInput")},
		causes.Denied:      {answered(403, "AuthorizationPermissionMismatch"), answered(403, "AuthorizationFailure"), answered(403, "AuthenticationFailed"), answered(403, "KeyBasedAuthenticationNotPermitted"), answered(401, "NoAuthenticationInformation"), &loginError{errors.New("no login"), false}},
		causes.Unreachable: {&net.OpError{Op: "dial", Err: &net.DNSError{}}},
	} {
		for _, err := range all {
			if got := (&store{settings: &settings{}}).Fault(err); got.Kind != want {
				t.Errorf("%v: got %+v, want the kind %d", plain(err), got, want)
			}
		}
	}
}
