package gcs_test

import (
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// TestRefusals checks that each refusal of the service becomes its own clear error.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault gcstest.Fault
		class error
		text  string
		hint  string
	}{
		"no credentials":    {gcstest.Fault{Status: 401, Reason: "authError", Message: "Invalid Credentials"}, locks.ErrDenied, "Invalid Credentials (HTTP 401)", "gcloud auth application-default login"},
		"no permission":     {gcstest.Fault{Status: 403, Reason: "forbidden", Message: "x@y does not have storage.objects.get access to the Google Cloud Storage object."}, locks.ErrDenied, "does not have storage.objects.get access", "roles/storage.objectUser"},
		"narrow scope":      {gcstest.Fault{Status: 403, Reason: "insufficientPermissions", Message: "Insufficient Permission"}, locks.ErrDenied, "Insufficient Permission", "devstorage.full_control"},
		"a hold":            {gcstest.Fault{Status: 403, Reason: "objectUnderActiveHold", Message: "Object 'b/o' is under active Temporary hold and cannot be deleted, overwritten or archived."}, locks.ErrDenied, "under active Temporary hold", "only changes metadata"},
		"a retention":       {gcstest.Fault{Status: 403, Reason: "retentionPolicyNotMet", Message: "Object 'b/o' is subject to bucket's retention policy"}, locks.ErrDenied, "retention policy", "only changes metadata"},
		"requester pays":    {gcstest.Fault{Status: 400, Reason: "required", Message: "Bucket is a requester pays bucket but no user project provided."}, locks.ErrDenied, "requester pays", "userproject=PROJECT"},
		"too many requests": {gcstest.Fault{Status: 429, Reason: "rateLimitExceeded", Message: "The object exceeded the rate limit for object mutation operations."}, locks.ErrUnavailable, "rate limit", "one write a second"},
		"quota":             {gcstest.Fault{Status: 403, Reason: "quotaExceeded", Message: "Quota exceeded."}, locks.ErrUnavailable, "Quota exceeded", "quota of the project"},
		"outage":            {gcstest.Fault{Status: 503, Reason: "backendError", Message: "Backend \x1b[2JError"}, locks.ErrUnavailable, `Backend \x1b[2JError (HTTP 503)`, ""},
	} {
		for _, verb := range []string{"read", "create"} {
			t.Run(name+"/"+verb, func(t *testing.T) {
				t.Parallel()
				trial.Steady(t, func(t testing.TB, scale int) {
					s := gcstest.Start(t)
					s.Fault(func(r gcstest.Request) gcstest.Fault {
						if r.Verb == verb {
							return tt.fault
						}
						return gcstest.Fault{}
					})
					o := options("a")
					o.ConnectTimeout = time.Duration(scale) * time.Second
					start := time.Now()
					_, err := at(t, s, o).Acquire(drive.Context(t), true)
					if !errors.Is(err, tt.class) || !strings.Contains(err.Error(), tt.text) || !strings.Contains(locks.Hint(err), tt.hint) {
						t.Errorf("got %v (hint: %s); want %v with %q (hint: %s)", err, locks.Hint(err), tt.class, tt.text, tt.hint)
					}
					if errors.Is(err, locks.ErrDenied) && errors.Is(err, locks.ErrUnavailable) {
						t.Errorf("the error has two classes: %v", err)
					}
					if took := time.Since(start); took > 4*o.ConnectTimeout {
						t.Errorf("it took %v, with a connect timeout of %v", took, o.ConnectTimeout)
					}
				})
			})
		}
	}
}

// TestNoBucket checks the error for a missing bucket, which only the text of the service's
// answer tells from a missing object.
func TestNoBucket(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	u := gcstest.URL(s.Addr(), "p")
	u.Host = "no-such-bucket"
	_, err := open(t, u, options("a")).Acquire(drive.Context(t), true)
	if !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), "bucket does not exist") || !strings.Contains(locks.Hint(err), "buckets create") {
		t.Errorf("got %v (hint: %s)", err, locks.Hint(err))
	}
}

// TestNotTheService checks the error if something else answers, or nothing.
func TestNotTheService(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>hello</html>")) }))
	t.Cleanup(web.Close)
	o := options("a")
	o.ConnectTimeout = time.Second
	for endpoint, want := range map[string]string{
		web.URL:              "something that is not Cloud Storage answered",
		"http://127.0.0.1:1": "connection refused",
	} {
		u := gcstest.URL(strings.TrimPrefix(endpoint, "http://"), "p")
		_, err := open(t, u, o).Acquire(drive.Context(t), true)
		if !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), want) || locks.Hint(err) == "" {
			t.Errorf("%s: got %v (hint: %s); want %q", endpoint, err, locks.Hint(err), want)
		}
	}
}

// TestNoCredentials checks that a missing file of credentials is ErrDenied, at once, with
// an error that names it.
func TestNoCredentials(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "/no/such/file")
	u := &url.URL{Scheme: "gcs", Host: gcstest.Bucket, RawQuery: "endpoint=https://127.0.0.1:1"}
	_, err := open(t, u, options("a")).Acquire(drive.Context(t), true)
	if !errors.Is(err, locks.ErrDenied) || !strings.Contains(err.Error(), "/no/such/file") || !strings.Contains(locks.Hint(err), "GOOGLE_APPLICATION_CREDENTIALS") {
		t.Errorf("got %v (hint: %s)", err, locks.Hint(err))
	}
}

// TestDeniedMidLease lets the account lose its permission. That does not prove that the
// lock is lost: the lease still runs, and the permission may come back before its end.
func TestDeniedMidLease(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	l := at(t, s, options("a"))
	drive.Hold(t, l)
	for _, status := range []int{401, 403} {
		s.Fault(func(gcstest.Request) gcstest.Fault { return gcstest.Fault{Status: status, Message: "no"} })
		if err := renew(t, l); !errors.Is(err, locks.ErrDenied) || errors.Is(err, locks.ErrLost) {
			t.Errorf("renew: %v; want ErrDenied", err)
		}
	}
	s.Fault(nil)
	if err := renew(t, l); err != nil {
		t.Errorf("renew, when it is allowed again: %v", err)
	}
}

// TestNotFoundBySomethingElse uses a load balancer that cannot reach the service and
// answers every request with 404. That does not prove that the object is gone.
func TestNotFoundBySomethingElse(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	var lost atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lost.Load() {
			http.Error(w, "default backend - 404", http.StatusNotFound)
			return
		}
		httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: s.Addr()}).ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	u := gcstest.URL(strings.TrimPrefix(front.URL, "http://"), "p")
	l := open(t, u, options("a"))
	drive.Hold(t, l)
	lost.Store(true)
	if err := renew(t, l); !errors.Is(err, locks.ErrUnavailable) || errors.Is(err, locks.ErrLost) {
		t.Errorf("renew: %v; want ErrUnavailable", err)
	}
	o := options("b")
	o.ConnectTimeout = time.Second
	if _, err := open(t, u, o).Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), "not Cloud Storage") {
		t.Errorf("acquire: %v; want ErrUnavailable", err)
	}
	lost.Store(false)
	if err := renew(t, l); err != nil {
		t.Errorf("renew, when the service answers again: %v", err)
	}
}

// TestNothingIsRepeated checks that a renewal that fails is one request: the SDK must not retry,
// because requests cost money and are limited.
func TestNothingIsRepeated(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	l := at(t, s, options("a"))
	drive.Hold(t, l)
	verbs(s)
	s.Fault(func(gcstest.Request) gcstest.Fault { return gcstest.Fault{Status: 503} })
	if err := renew(t, l); !errors.Is(err, locks.ErrUnavailable) {
		t.Errorf("renew: %v", err)
	}
	if got, want := verbs(s), (map[string]int{"patch": 1}); !maps.Equal(got, want) {
		t.Errorf("a failed renewal made the requests %v; want %v", got, want)
	}
}
