package gcs

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// TestCredentials uses a service that requires credentials. One token is requested and
// sent with each request, and the Date of the answer is still read. Refused credentials
// are ErrDenied.
func TestCredentials(t *testing.T) {
	var refuse atomic.Bool
	var asked atomic.Int32
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		if refuse.Load() {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"invalid_grant","error_description":"account not found"}`))
			return
		}
		_, _ = w.Write([]byte(`{"access_token":"opensesame","token_type":"Bearer","expires_in":3600}`))
	}))
	t.Cleanup(tokens.Close)
	service := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 {
			t.Errorf("a request by %s; want HTTP/1.1, because one silent connection would hang all requests", r.Proto)
		}
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Authorization") != "Bearer opensesame" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"name":"x","generation":"1","metageneration":"1","timeCreated":"2026-01-02T03:04:05Z","updated":"2026-01-02T03:04:05Z"}`))
	}))
	service.EnableHTTP2 = true
	service.StartTLS()
	t.Cleanup(service.Close)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", lockstest.GoogleKey(t, tokens.URL))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	dial := func() *store {
		c := newStore(&settings{bucket: "b-1", prefix: "p", endpoint: service.URL}, locks.Options{ConnectTimeout: 5 * time.Second})
		c.transport.TLSClientConfig = service.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	c := dial()
	for range 3 {
		v, answer, err := c.look(ctx, caslease.Key{Name: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if v.Version == "" || time.Since(v.Date) > time.Minute {
			t.Errorf("read %+v", v)
		}
		if version, expires := tlsfiles.Security(*answer.tls, nil); version != "1.3" || !expires.Equal(service.Certificate().NotAfter) {
			t.Errorf("encrypted by %q until %v", version, expires)
		}
	}
	if got := c.user(ctx); got != "a@example.com" {
		t.Errorf("the user is %q", got)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("%d tokens were requested for 3 requests; want 1", n)
	}
	refuse.Store(true)
	_, err := c.Read(ctx, caslease.Key{Name: "x"})
	if err != nil {
		t.Fatal(err) // the first token is still valid
	}
	c = dial()
	_, err = c.Read(ctx, caslease.Key{Name: "x"})
	if f := c.Fault(err); f.Kind != causes.Denied || strings.Contains(f.Text, "opensesame") || f.Hint != hintLogin {
		t.Errorf("with refused credentials: %+v, from %v", f, err)
	}
}

// TestUserOf checks that userOf returns the account of each kind of file, and no secret.
func TestUserOf(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		`{"type":"service_account","client_email":"a@example.com","private_key":"secret"}`:                                                                                        "a@example.com",
		`{"type":"authorized_user","refresh_token":"secret"}`:                                                                                                                     "",
		`{"type":"authorized_user","account":"me@example.com","refresh_token":"secret"}`:                                                                                          "me@example.com",
		`{"type":"external_account","service_account_impersonation_url":"https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/b@example.com:generateAccessToken"}`: "b@example.com",
		`?`: "",
	} {
		if got := userOf([]byte(key)); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
}
