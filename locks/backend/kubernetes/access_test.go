package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/kubernetes/kubetest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// is checks the class of an error, and that it says something.
func isClass(t *testing.T, what string, err, class error, says string) {
	t.Helper()
	var explained *locks.Error
	hint := ""
	if errors.As(err, &explained) {
		hint = explained.Hint
	}
	if !errors.Is(err, class) || !strings.Contains(err.Error()+"; "+hint, says) {
		t.Errorf("%s: got %v (%s); want %v that says %q", what, err, hint, class, says)
	}
}

// testRights checks what a run may do without a Role, and with the least one.
func testRights(t *testing.T, r *rig) {
	guest := map[string]any{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "guest"}
	open := func(namespace string) locks.Lock {
		u := r.server.URL(r.server.Addr(), namespace, map[string]any{"token": kubetest.Guest})
		return drive.Open(t, Open, u.String(), electionOptions("guest"))
	}
	user := func(l locks.Lock) {
		s, err := l.(locks.Prober).Probe(drive.Context(t))
		if err != nil || s.User != "guest" || s.Servers[0].Version == "" || s.Servers[0].TLS == "" {
			t.Errorf("probed %+v, %v", s, err)
		}
	}
	none, least := r.server.Namespace(), r.server.Namespace()
	l := open(none)
	_, err := l.Acquire(drive.Context(t), true)
	isClass(t, "without a role", err, locks.ErrDenied, `User "guest" cannot get resource "leases"`)
	r.server.Grant(least, guest, "get", "create", "patch")
	l = open(least)
	drive.Eventually(t, drive.Patience, "the role counts", func() bool { _, err = l.Acquire(drive.Context(t), true); return err == nil })
	waiter, got := drive.Campaign(drive.Context(t), t, Open, r.server.URL(r.server.Addr(), least, map[string]any{"token": kubetest.Guest}).String(), electionOptions("waiter"))
	drive.Renew(t, l)
	drive.Release(t, l)
	if got := drive.Within(t, drive.Patience, got); got.Err != nil {
		t.Errorf("a waiter that may not watch: %v", got.Err)
	}
	user(waiter)
}

// testNamespaceDeleted checks that a holder learns of the end of its namespace, and that nobody
// acquires a lock in one that ends, or that does not exist.
func testNamespaceDeleted(t *testing.T, r *rig) {
	namespace := r.server.Namespace()
	u := r.server.URL(r.server.Addr(), namespace, kubetest.AsAdmin()).String()
	l := drive.Open(t, Open, u, electionOptions("a"))
	drive.Hold(t, l)
	r.server.Do(http.MethodDelete, "/api/v1/namespaces/"+namespace, nil)
	r.server.Do(http.MethodDelete, kubetest.Leases(namespace)+"/controller", nil) // as a controller does then
	isClass(t, "the holder", drive.LossOf(t, l), locks.ErrLost, "the Lease was deleted")
	_, err := drive.Open(t, Open, u, electionOptions("b")).Acquire(drive.Context(t), true)
	isClass(t, "in a namespace that ends", err, locks.ErrRefused, "the namespace is being deleted")
	u = r.server.URL(r.server.Addr(), "other", kubetest.AsAdmin()).String()
	_, err = drive.Open(t, Open, u, electionOptions("b")).Acquire(drive.Context(t), true)
	isClass(t, "in a namespace that does not exist", err, locks.ErrUsage, `namespaces "other" not found`)
}

// testPriority lets the server's priority and fairness refuse all requests of a user for a while,
// with 429 and Retry-After.
func testPriority(t *testing.T, r *rig) {
	namespace := r.server.Namespace()
	r.server.Grant(namespace, map[string]any{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "guest"}, "get", "create", "patch", "watch")
	u := r.server.URL(r.server.Addr(), namespace, map[string]any{"token": kubetest.Guest})
	l := drive.Open(t, Open, u.String(), electionOptions("guest"))
	drive.Eventually(t, drive.Patience, "the role counts", func() bool { _, err := l.Acquire(drive.Context(t), true); return err == nil })
	ctx, cancel := context.WithCancel(drive.Context(t))
	defer cancel()
	for range 8 { // a server lets one request through, if there is no other
		go func(s *store) {
			defer s.Close()
			for ctx.Err() == nil {
				_, _ = s.Read(ctx, caslease.Key{Name: "controller"})
			}
		}(openStore(t, u, electionOptions("busy")))
	}
	const at = "/apis/flowcontrol.apiserver.k8s.io/v1"
	meta := map[string]any{"name": "none"}
	r.server.Do(http.MethodPost, at+"/prioritylevelconfigurations", map[string]any{"metadata": meta, "spec": map[string]any{
		"type": "Limited", "limited": map[string]any{"nominalConcurrencyShares": 0, "lendablePercent": 0, "borrowingLimitPercent": 0, "limitResponse": map[string]any{"type": "Reject"}},
	}})
	r.server.Do(http.MethodPost, at+"/flowschemas", map[string]any{"metadata": meta, "spec": map[string]any{
		"priorityLevelConfiguration": meta, "matchingPrecedence": 2,
		"rules": []any{map[string]any{
			"subjects":      []any{map[string]any{"kind": "User", "user": map[string]any{"name": "guest"}}},
			"resourceRules": []any{map[string]any{"verbs": []string{"*"}, "apiGroups": []string{"*"}, "resources": []string{"*"}, "namespaces": []string{namespace}}},
		}},
	}})
	var err error
	drive.Eventually(t, drive.Patience, "the server refuses", func() bool { err = l.Renew(drive.Context(t)); return err != nil })
	isClass(t, "a renewal", err, locks.ErrUnavailable, "too many requests")
	cancel()
	r.server.Do(http.MethodDelete, at+"/flowschemas/none", nil)
	drive.Eventually(t, drive.Patience, "a renewal succeeds, or the lease ends", func() bool { err = l.Renew(drive.Context(t)); return err == nil || errors.Is(err, locks.ErrLost) })
}

// account makes a service account that may take locks, and returns a token that ends with it.
func account(r *rig, namespace, name string) (token string) {
	at := "/api/v1/namespaces/" + namespace + "/serviceaccounts"
	r.server.Do(http.MethodPost, at, map[string]any{"metadata": map[string]any{"name": name}})
	var made struct{ Status struct{ Token string } }
	answer := r.server.Do(http.MethodPost, at+"/"+name+"/token", map[string]any{"spec": map[string]any{"expirationSeconds": 600}})
	_ = json.Unmarshal([]byte(answer), &made)
	return made.Status.Token
}

// testBoundToken checks that a token which rotates in its file is read again, and what a holder
// learns when its account has been deleted.
func testBoundToken(t *testing.T, r *rig) {
	namespace := r.server.Namespace()
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(account(r, namespace, "old"))
	r.server.Grant(namespace, map[string]any{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "system:serviceaccounts:" + namespace}, "get", "create", "patch", "watch")
	l := drive.Open(t, Open, r.server.URL(r.server.Addr(), namespace, map[string]any{"tokenFile": file}).String(), electionOptions("pod"))
	var err error
	drive.Eventually(t, drive.Patience, "the role counts", func() bool { _, err = l.Acquire(drive.Context(t), true); return err == nil })
	r.server.Do(http.MethodDelete, "/api/v1/namespaces/"+namespace+"/serviceaccounts/old", nil)
	drive.Eventually(t, drive.Patience, "the token has ended", func() bool { err = l.Renew(drive.Context(t)); return err != nil })
	isClass(t, "a renewal", err, locks.ErrUnavailable, "Unauthorized") // the server may have just started
	_, err = drive.Open(t, Open, r.server.URL(r.server.Addr(), namespace, map[string]any{"tokenFile": file}).String(), electionOptions("pod 1")).Acquire(drive.Context(t), true)
	isClass(t, "a run that begins then", err, locks.ErrDenied, "a service account's token ends with its pod")
	write(account(r, namespace, "new"))
	o := electionOptions("pod 2")
	o.Name = "other"
	drive.Hold(t, drive.Open(t, Open, r.server.URL(r.server.Addr(), namespace, map[string]any{"tokenFile": file}).String(), o))
}
