package kubernetes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

const kubeconfig = `
apiVersion: v1
kind: Config
current-context: one
clusters: [{name: c, cluster: {server: "https://k.example.com"}}, {name: plain, cluster: {server: "http://k.example.com"}}]
users:
- {name: token, user: {token: opensesame}}
- {name: asks, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always}}}
- {name: old, user: {auth-provider: {name: gcp}}}
contexts:
- {name: one, context: {cluster: c, user: token, namespace: jobs}}
- {name: "admin@c", context: {cluster: c, user: token}}
- {name: "arn:x/y", context: {cluster: c, user: token}}
- {name: plain, context: {cluster: plain, user: token}}
- {name: asks, context: {cluster: c, user: asks}}
- {name: old, context: {cluster: c, user: old}}
`

// backend returns how messages name the backend of a URL, or why it is refused.
func backend(t *testing.T, address string, env ...string) (string, error) {
	t.Helper()
	u, err := locks.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	s, err := parse(u, tester.Environment(env...))
	if err != nil {
		return "", err
	}
	c, err := s.load()
	if err == nil {
		_, err = newClient(c, 0, nil)
	}
	if err != nil {
		return "", err
	}
	return traits(c).Backend, nil
}

// TestSettings checks which context and namespace a URL means, and what is refused by name.
func TestSettings(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	env := "KUBECONFIG=/no/such/file:" + file
	for address, want := range map[string]string{
		"k8s:": "k8s://one/jobs", "k8s://": "k8s://one/jobs", "k8s:///other": "k8s://one/other", "k8s://admin@c": "k8s://admin@c/default",
		"k8s:///x?context=arn:x/y": "k8s://arn:x/y/x", "k8s://one/x?kubeconfig=" + file: "k8s://one/x",
	} {
		if got, err := backend(t, address, env); err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", address, got, err, want)
		}
	}
	for address, want := range map[string]string{
		"k8s://two": `no context "two" in /no/such/file, ` + file, "k8s://one?context=asks": "two contexts", "k8s://a:opensesame@c": "no password",
		"k8s:///A": "namespace \"A\"", "k8s:///kube-system": "belong to the cluster", "k8s:///kube-node-lease": "belong to the cluster",
		"k8s://asks": "asks questions", "k8s://old": `auth-provider "gcp"`, "k8s://one?kubeconfig=/no/such": "/no/such",
	} {
		if got, err := backend(t, address, env); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: got %s, %v; want that it says %q", address, got, err, want)
		}
	}
	s := &settings{context: "plain", files: []string{file}}
	if c, err := s.load(); err != nil || c.config.BearerToken != "" {
		t.Errorf("without TLS, the token %q would be sent: %v", c.config.BearerToken, err)
	}
	backendtest.Refuses(t, parse, "k8s://one", []string{"KUBERNETES_MASTER=http://x"}, "KUBERNETES_MASTER is set")
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	if got, err := backend(t, "k8s://one", env); err == nil || !strings.Contains(err.Error(), "cannot use "+file) {
		t.Errorf("a kubeconfig that all may write: got %s, %v", got, err)
	}
}

// TestNames checks that a name which a Lease can have is the Lease's, and that all others differ
// from those.
func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x/", 99)
	for name, want := range map[string]string{
		"controller": "controller", "a.b-c": "a.b-c", "jobs/nightly": "jobs-nightly.leaderrun-", "Jobs": "jobs.leaderrun-", "-": "leaderrun-",
		"x.leaderrun-ask": "x-leaderrun-ask.leaderrun-", "a..b": "a-b.leaderrun-", "jobs#3": "jobs-3.leaderrun-", long: long[:99],
	} {
		for _, p := range []caslease.Part{caslease.Lease, caslease.Request} {
			got := object(caslease.Key{Name: name, Part: p})
			if want := strings.ReplaceAll(want, "/", "-"); !strings.HasPrefix(got, want) || own(name) && p == caslease.Lease && got != want || len(got) > 253 || !subdomain.MatchString(got) {
				t.Errorf("%q is in %q; want %q", name, got, want)
			}
		}
	}
}

// What a server refuses that may be starting is asked for again, for a while.
func TestSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRights()
		expect := func(what, verb string, renewing, want bool) {
			t.Helper()
			if r.soon(verb, renewing) != want {
				t.Errorf("%s: not %v", what, want)
			}
		}
		expect("at first", "GET", false, false)
		expect("a plugin makes new credentials", "GET", true, true)
		r.unanswered()
		expect("after a request without an answer", "GET", false, true)
		r.allow("POST")
		time.Sleep(starting)
		expect("later", "GET", false, false)
		expect("another verb that was allowed", "POST", false, true)
		expect("a verb that was never allowed", "PATCH", false, false)
		time.Sleep(starting)
		expect("for too long", "POST", false, false)
	})
}
