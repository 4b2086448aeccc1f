package consul_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/consul/consultest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// leastPolicy is the policy in the documents.
const leastPolicy = `key_prefix "leaderrun/" { policy = "write" } session_prefix "" { policy = "write" }`

// newToken makes a token with a policy, and returns it and its accessor.
func newToken(t testing.TB, s *consultest.Server, name, rules, more string) (token, accessor string) {
	t.Helper()
	policy, _ := json.Marshal(map[string]string{"Name": name, "Rules": rules})
	s.Ask(http.MethodPut, "/v1/acl/policy", string(policy))
	var made struct{ SecretID, AccessorID string }
	if err := json.Unmarshal([]byte(s.Ask(http.MethodPut, "/v1/acl/token", fmt.Sprintf(`{"Policies": [{"Name": %q}]%s}`, name, more))), &made); err != nil {
		t.Fatal(err)
	}
	return made.SecretID, made.AccessorID
}

// tokenFile returns a file with a token.
func tokenFile(t testing.TB, token string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestACL checks that the least policy is enough for all that a run and an operator do, and
// that an error names the part that is missing.
func TestACL(t *testing.T) {
	t.Parallel()
	s := consultest.Start(t, consultest.Options{Token: secret})
	least, accessor := newToken(t, s, "least", leastPolicy, "")
	file := tokenFile(t, least)
	l := handle(t, s.URL()+"?token-file="+file, options("a"))
	g := drive.Hold(t, l)
	drive.Renew(t, l)
	if err := l.SetRecord(drive.Context(t), []byte("x")); err != nil {
		t.Error(err)
	}
	drive.Ask(t, l, g.Token, "resign")
	drive.IsAsked(t, l, "resign")
	if all, _ := drive.List(t, l); !all["jobs/nightly"].Status.Held || string(all["jobs/nightly"].Record) != "x" {
		t.Errorf("listed %+v", all)
	}
	if got := finding(t, l, "agent"); got.Level != locks.LevelWarning || !strings.Contains(got.Text, "unknown: ") {
		t.Errorf("found %+v", got)
	}

	// The token is deleted during a lease, and replaced in its file.
	s.Ask(http.MethodDelete, "/v1/acl/token/"+accessor, "")
	drive.Eventually(t, drive.Patience, "the token is not known any more", func() bool {
		err := l.Renew(drive.Context(t))
		if err != nil && (!errors.Is(err, locks.ErrDenied) || errors.Is(err, locks.ErrLost) || !strings.Contains(err.Error(), "has expired")) {
			t.Fatalf("got %v", err)
		}
		return err != nil
	})
	again, _ := newToken(t, s, "again", leastPolicy, `, "ExpirationTTL": "1h"`)
	if err := os.WriteFile(file, []byte(again), 0o600); err != nil {
		t.Fatal(err)
	}
	drive.Renew(t, l)
	if got := finding(t, l, "token"); !strings.Contains(got.Text, "expires at") {
		t.Errorf("found %+v", got)
	}
	drive.Release(t, l)
	if err := l.Forget(drive.Context(t)); err != nil {
		t.Error(err)
	}

	for name, rules := range map[string]string{
		"session:write": `key_prefix "leaderrun/" { policy = "write" }`,
		"key:write":     `key_prefix "leaderrun/" { policy = "read" } session_prefix "" { policy = "write" }`,
		"key:read":      `session_prefix "" { policy = "write" }`,
	} {
		token, _ := newToken(t, s, strings.ReplaceAll(name, ":", "-"), rules, "")
		l := handle(t, s.URL()+"?token-file="+tokenFile(t, token), options("a"))
		_, err := l.Acquire(drive.Context(t), false)
		if !errors.Is(err, locks.ErrDenied) || !strings.Contains(err.Error(), name) || !strings.Contains(locks.Hint(err), "needs a policy") || strings.Contains(fmt.Sprint(err), token) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestAgentsSettings checks that doctor warns of an agent that keeps nothing over a restart, or ends
// its leases then.
func TestAgentsSettings(t *testing.T) {
	t.Parallel()
	s := consultest.Start(t, consultest.Options{})
	for _, check := range []string{"agent", "dev mode", "deregistration", "token"} {
		if got := finding(t, handle(t, s.URL(), options("a")), check); got.Level != "" {
			t.Errorf("found %+v", got)
		}
	}
	leaves := consultest.Start(t, consultest.Options{HCL: []string{"leave_on_terminate = true"}})
	if got := finding(t, handle(t, leaves.URL(), options("a")), "deregistration"); got.Level != locks.LevelWarning {
		t.Errorf("found %+v", got)
	}
	dev := front(t, s, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/v1/agent/self" {
			fmt.Fprint(w, `{"Config": {"Server": true}, "DebugConfig": {"DevMode": true}}`)
		}
		return r.URL.Path == "/v1/agent/self"
	})
	if got := finding(t, handle(t, "consul://"+dev, options("a")), "dev mode"); got.Level != locks.LevelError {
		t.Errorf("found %+v", got)
	}
}
