package consul_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/consul"
	"github.com/leaderrun/leaderrun/locks/backend/consul/consultest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

func TestMain(m *testing.M) { drive.Main(m, "6") }

// handle opens a handle, which is closed at the end of the test.
func handle(t testing.TB, rawURL string, o locks.Options) *queue.Lock {
	t.Helper()
	return drive.Open(t, consul.Open, rawURL, o).(*queue.Lock)
}

// campaign starts an Acquire, and returns when it waits.
func campaign(ctx context.Context, t testing.TB, rawURL string, o locks.Options) (locks.Lock, <-chan drive.Result) {
	t.Helper()
	return drive.Campaign(ctx, t, consul.Open, rawURL, o)
}

// options returns options with a lease that is longer than any test.
func options(holder string) locks.Options {
	return locks.Options{Name: "jobs/nightly", Holder: holder, TTL: time.Minute, ConnectTimeout: trial.Stretch(5 * time.Second), Version: "test"}
}

// A key is a lock's key, as the server describes it.
type key struct {
	Session     string
	ModifyIndex uint64
}

// keyOf returns the key of the lock of options, under the default prefix.
func keyOf(t testing.TB, s *consultest.Server) key {
	t.Helper()
	return keyAt(t, s, keyPath)
}

func keyAt(t testing.TB, s *consultest.Server, path string) key {
	t.Helper()
	var all []key
	if err := json.Unmarshal([]byte(s.Ask(http.MethodGet, path, "")), &all); err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// newSession makes a session that is not leaderrun's.
func newSession(t testing.TB, s *consultest.Server, settings string) (id string) {
	t.Helper()
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(s.Ask(http.MethodPut, "/v1/session/create", settings)), &made); err != nil {
		t.Fatal(err)
	}
	return made.ID
}

const keyPath = "/v1/kv/leaderrun/jobs=2Fnightly"

// front returns the address of a proxy, which passes on what f does not answer.
func front(t testing.TB, s *consultest.Server, f func(http.ResponseWriter, *http.Request) (answered bool)) (addr string) {
	t.Helper()
	pass := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: s.Addr()})
	pass.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !f(w, r) {
			pass.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	return h.Listener.Addr().String()
}
