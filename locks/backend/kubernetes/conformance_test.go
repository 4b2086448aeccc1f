package kubernetes

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/backend/kubernetes/kubetest"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

func TestMain(m *testing.M) { drive.Main(m, "6") }

func TestConformance(t *testing.T) { lockstest.Run(t, newRig(t).config(Open)) }

func TestSlots(t *testing.T) { lockstest.RunSlots(t, newRig(t).config(Open)) }

// TestServer runs what can share a server.
func TestServer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, test := range map[string]func(*testing.T, *rig){
		"Store":            testStore,
		"Rights":           testRights,
		"NamespaceDeleted": testNamespaceDeleted,
		"Priority":         testPriority,
		"BoundToken":       testBoundToken,
		"NewCertificate":   testNewCertificate,
		"NewAuthority":     testNewAuthority,
		"ElectorExcluded":  testElectorExcluded,
		"ElectorRespected": testElectorRespected,
		"TakenByElector":   testTakenByElector,
		"ForeignKept":      testForeignKept,
		"DeadHolder":       testDeadHolder,
		"SlowPlugin":       testSlowPlugin,
		"RefusedToken":     testRefusedToken,
		"FailedPlugin":     testFailedPlugin,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, r)
		})
	}
}

// testStore checks what the recipe relies on.
func testStore(t *testing.T, r *rig) {
	namespace := r.server.Namespace()
	var next atomic.Int64 // what the next write meets, and one more: 0 means nothing
	c := storetest.Config{
		Follows: follows,
		Open: func(t testing.TB) caslease.Store {
			s := r.store(t, namespace, r.server.Addr())
			s.client.http.Transport = failing{s.client.http.Transport, &next}
			return s
		},
		Unreachable: func(t testing.TB) caslease.Store { return r.store(t, namespace, "127.0.0.1:1") },
		FailNext:    func(_ testing.TB, k causes.Kind) { next.Store(int64(k) + 1) },
	}
	for _, harm := range r.hostile() {
		c.Hostile = append(c.Hostile, func(_ testing.TB, k caslease.Key) { harm(namespace, object(k)) })
	}
	storetest.Run(t, c)
}

// testDeadHolder: a run that does not wait learns that the holder may be gone, by the times that the
// API server notes, and that it is when the Lease was seen unchanged for long enough.
func testDeadHolder(t *testing.T, r *rig) {
	u := r.server.URL(r.server.Addr(), r.server.Namespace(), kubetest.AsAdmin())
	o := locks.Options{Name: "dead", Holder: "a", TTL: 2 * time.Second, ConnectTimeout: realserver.Ready}
	drive.Hold(t, drive.Open(t, Open, u.String(), o))
	time.Sleep(o.TTL + 2*time.Second) // the server's times are in whole seconds
	o.Holder = "b"
	b, w := drive.Open(t, Open, u.String(), o), drive.Open(t, Open, u.String(), o).(locks.Inspector)
	if s, err := w.Inspect(drive.Context(t)); err != nil || s.Left >= 0 || s.Confirm <= 0 {
		t.Errorf("at the first look: %+v, %v", s.Status, err)
	}
	_, err := b.Acquire(drive.Context(t), true)
	if held, ok := errors.AsType[*locks.HeldError](err); !ok || held.Status.Confirm <= 0 {
		t.Errorf("got %v, want a lease to be confirmed", err)
	}
	time.Sleep(o.TTL)
	if s, err := w.Inspect(drive.Context(t)); err != nil || !s.Over() {
		t.Errorf("a lease later: %+v, %v", s.Status, err)
	}
}

// failing makes a write fail.
type failing struct {
	http.RoundTripper
	next *atomic.Int64
}

func (f failing) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet {
		return f.RoundTripper.RoundTrip(req)
	}
	switch causes.Kind(f.next.Swap(0) - 1) {
	case causes.Unknown:
		resp, err := f.RoundTripper.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return nil, errors.New("the answer was lost")
	case causes.Throttled:
		body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,"details":{"retryAfterSeconds":1}}`
		return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"1"}}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
	}
	return f.RoundTripper.RoundTrip(req)
}

// A rig is one server. All tests of a suite share it, each with its own namespace and proxies.
type rig struct {
	server  *kubetest.Server
	proxies faultproxy.Set
}

func newRig(t *testing.T) *rig { return &rig{server: kubetest.Start(t)} }

// store opens a store in a namespace, at an address.
func (r *rig) store(t testing.TB, namespace, addr string) *store {
	t.Helper()
	s := openStore(t, r.server.URL(addr, namespace, kubetest.AsAdmin()), locks.Options{ConnectTimeout: realserver.Ready})
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// openStore does what Open does.
func openStore(t testing.TB, u *url.URL, o locks.Options) *store {
	t.Helper()
	s, err := parse(u, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.load()
	if err != nil {
		t.Fatal(err)
	}
	cl, err := newClient(c, o.ConnectTimeout, nil)
	if err != nil {
		t.Fatal(err)
	}
	return newStore(cl, o)
}

func (r *rig) config(open locks.Opener) lockstest.Config {
	c := storetest.Conformance(&store{}, traits(&cluster{}), func(t testing.TB, u *url.URL) caslease.Store {
		return r.store(t, path.Base(u.Path), r.server.Addr())
	})
	to := func(t testing.TB, namespace string) *url.URL {
		return r.server.URL(r.proxies.New(t, r.server.Addr()), namespace, kubetest.AsAdmin())
	}
	c.Open, c.TTL, c.Abilities, c.HTTP, c.ReportsLeft = open, 2*time.Second, known.Kubernetes.Abilities, true, true
	c.URL = func(t testing.TB) *url.URL { return to(t, r.server.Namespace()) }
	c.Twin = func(t testing.TB, u *url.URL) *url.URL { return to(t, path.Base(u.Path)) }
	c.Cut = func(_ testing.TB, u *url.URL, how lockstest.Cut) (heal func()) { return r.proxies.Cut(u.Host, how) }
	c.Restart = func(testing.TB, *url.URL) { r.server.Kill(); r.server.Start() }
	c.Connections = func(_ testing.TB, u *url.URL) int { return r.proxies.Find(u.Host).Open() }
	for _, harm := range r.hostile() {
		c.Hostile = append(c.Hostile, func(_ testing.TB, u *url.URL, name string) {
			harm(path.Base(u.Path), object(caslease.Key{Name: name}))
		})
	}
	return c
}

// hostile returns what others may do to a Lease.
func (r *rig) hostile() (all []func(namespace, name string)) {
	for _, change := range []map[string]any{
		{"metadata": map[string]any{"annotations": map[string]any{stateKey: nil}}},
		{"metadata": map[string]any{"annotations": map[string]any{stateKey: ""}}},
		{"metadata": map[string]any{"annotations": map[string]any{wroteKey: "?"}}},
		{"metadata": map[string]any{"annotations": map[string]any{wroteKey: `{"born":-1}`, stateKey: strings.Repeat("[", 200<<10)}}},
		{"spec": map[string]any{"holderIdentity": "\x1b[2J\n", "leaseDurationSeconds": 1 << 30, "leaseTransitions": 1<<31 - 1, "renewTime": "9999-12-31T23:59:59.999999Z", "acquireTime": "0001-01-01T00:00:00.000000Z"}},
		{"spec": map[string]any{"holderIdentity": strings.Repeat("x", 100<<10), "leaseTransitions": 1, "acquireTime": "2026-01-01T00:00:00.000000Z"}},
		{"spec": map[string]any{"strategy": "OldestEmulationVersion"}},
	} {
		all = append(all, func(namespace, name string) {
			at := kubetest.Leases(namespace)
			made := map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": name}}
			r.server.Try(http.MethodPost, at, made) // there may be one
			r.server.Patch(at+"/"+name, change)
		})
	}
	return all
}
