package gcs

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/auth"
	"google.golang.org/api/googleapi"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

// TestStore checks what the recipe relies on.
func TestStore(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	to := func(endpoint string) func(testing.TB) caslease.Store {
		return func(testing.TB) caslease.Store {
			return newStore(&settings{bucket: gcstest.Bucket, prefix: "p", endpoint: endpoint}, locks.Options{ConnectTimeout: 10 * time.Second})
		}
	}
	c := storetest.Config{
		Expiry: caslease.ByStamps, Follows: follows,
		Open: to("http://" + s.Addr()), Unreachable: to("http://127.0.0.1:1"),
		FailNext: func(_ testing.TB, k causes.Kind) {
			f := gcstest.Fault{LoseReply: true}
			if k == causes.Throttled {
				f = gcstest.Fault{Status: http.StatusTooManyRequests, Reason: "rateLimitExceeded"}
			}
			s.NextOf(f, "create", "patch")
		},
	}
	for _, value := range []string{"", "?", strings.Repeat("x", 300<<10)} {
		c.Hostile = append(c.Hostile, func(_ testing.TB, k caslease.Key) {
			s.SetMetadata("p/"+locks.EscapeName(k.Name), map[string]string{stateKey: value})
		})
	}
	storetest.Run(t, c)
}

// TestKinds checks the kinds of errors that the emulator does not produce, or whose kind
// the other tests cannot see.
func TestKinds(t *testing.T) {
	t.Parallel()
	for want, all := range map[causes.Kind][]error{
		causes.Unknown:     {answered(500, "no"), answered(408, "no"), &net.OpError{Op: "dial", Err: &net.DNSError{IsTimeout: true}}, io.EOF},
		causes.Changed:     {answered(404, "Not Found"), answered(412, "")},
		causes.Unsent:      {answered(404, ""), &searchError{context.Canceled}, &auth.Error{Err: io.EOF, Response: &http.Response{StatusCode: 503}}},
		causes.Refused:     {answered(400, "no"), answered(404, "The bucket does not exist"), &bucketError{answered(404, "Not Found")}},
		causes.Unreachable: {&net.OpError{Op: "dial", Err: &net.DNSError{}}},
	} {
		for _, err := range all {
			if got := new(store).Fault(err); got.Kind != want {
				t.Errorf("%v: got %+v, want the kind %d", err, got, want)
			}
		}
	}
}

func answered(code int, message string) error { return &googleapi.Error{Code: code, Message: message} }

// TestServiceDate checks that serviceDate ignores a Date that a cache or a proxy may have
// written.
func TestServiceDate(t *testing.T) {
	t.Parallel()
	const date = "Fri, 02 Jan 2026 03:04:05 GMT"
	for _, tt := range []struct {
		header http.Header
		want   bool
	}{
		{http.Header{"Date": {date}}, true},
		{http.Header{"Date": {date}, "Cache-Control": {"no-store"}}, true},
		{http.Header{}, false},
		{http.Header{"Date": {"yesterday"}}, false},
		{http.Header{"Date": {date, date}}, false},
		{http.Header{"Date": {date}, "Age": {"0"}}, false},
		{http.Header{"Date": {date}, "Via": {"1.1 proxy"}}, false},
		{http.Header{"Date": {date}, "Warning": {`110 - "Response is Stale"`}}, false},
	} {
		if got := serviceDate(tt.header); got.IsZero() == tt.want {
			t.Errorf("%v: got %v", tt.header, got)
		}
	}
}

// TestFollows: each change raises the metageneration, unless the object is another one, whose
// generation may be any.
func TestFollows(t *testing.T) {
	t.Parallel()
	for versions, want := range map[[2]string]bool{
		{"", "7/1"}: true, {"7/1", "7/2"}: true, {"7/2", "7/1"}: false, {"7/2", "7/2"}: false, {"7/2", "8/1"}: true, {"7/2", "6/1"}: true,
	} {
		if got := follows(versions[0], versions[1]); got != want {
			t.Errorf("follows(%q) = %v", versions, got)
		}
	}
}
