package etcd_test

import (
	"context"
	"flag"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/etcd"
	"github.com/leaderrun/leaderrun/locks/etcd/etcdtest"
)

// TestMain takes the tester's own etcd out of the environment.
func TestMain(m *testing.M) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "ETCDCTL_") || name == "LEADERRUN_ETCD_PREFIX" {
			_ = os.Unsetenv(name)
		}
	}
	// Most of what these tests do is to wait: how many run at once need not be
	// tied to the number of processors.
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("6")
	}
	os.Exit(m.Run())
}

// patience bounds what must happen at some time on a busy machine.
const patience = 30 * time.Second

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func options(holder string) locks.Options {
	return locks.Options{Name: "jobs/nightly", Holder: holder, TTL: 10 * time.Second, ConnectTimeout: 5 * time.Second, Version: "test"}
}

// open makes a handle that is closed with the test.
func open(t testing.TB, rawURL string, o locks.Options) locks.Lock {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := etcd.Open(testContext(t), u, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// hold has the lock at once.
func hold(t testing.TB, l locks.Lock) locks.Grant {
	t.Helper()
	g, err := l.Acquire(testContext(t), true)
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	return g
}

func release(t testing.TB, l locks.Lock) {
	t.Helper()
	if err := l.Release(testContext(t)); err != nil {
		t.Errorf("release: %v", err)
	}
}

// A result is what an Acquire in the background came to.
type result struct {
	grant locks.Grant
	err   error
	at    time.Time
}

// campaign starts to wait, and returns once the wait is known to have begun.
func campaign(ctx context.Context, t testing.TB, rawURL string, o locks.Options) (locks.Lock, <-chan result) {
	t.Helper()
	waiting := make(chan locks.Waiting, 1000)
	o.Waiting = func(w locks.Waiting) { waiting <- w }
	l := open(t, rawURL, o)
	done := make(chan result, 1)
	go func() {
		g, err := l.Acquire(ctx, false)
		done <- result{g, err, time.Now()}
	}()
	select {
	case <-waiting:
	case r := <-done:
		t.Fatalf("got %+v, %v instead of waiting", r.grant, r.err)
	case <-time.After(patience):
		t.Fatal("Waiting was not called")
	}
	return l, done
}

// within receives, if that is possible within a limit.
func within[T any](t testing.TB, limit time.Duration, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(limit):
		t.Fatalf("nothing happened within %v", limit)
		panic("unreachable")
	}
}

// lossOf waits for the notice of a loss.
func lossOf(t testing.TB, l locks.Lock) error {
	t.Helper()
	return within(t, patience, l.Lost())
}

// eventually polls until ok.
func eventually(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// An operator looks at a server and interferes, for the length of a test.
type operator struct {
	t testing.TB
	*clientv3.Client
}

func operate(t testing.TB, s *etcdtest.Server) operator {
	c := s.Client()
	t.Cleanup(func() { _ = c.Close() })
	return operator{t, c}
}

// entries returns the keys under a prefix, the oldest first.
func (o operator) entries(prefix string) []entry {
	o.t.Helper()
	resp, err := o.Get(testContext(o.t), prefix, clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		o.t.Fatal(err)
	}
	var all []entry
	for _, kv := range resp.Kvs {
		all = append(all, entry{string(kv.Key), string(kv.Value), clientv3.LeaseID(kv.Lease), kv.CreateRevision})
	}
	return all
}

type entry struct {
	key, value string
	lease      clientv3.LeaseID
	created    int64
}

func (o operator) delete(key string) {
	o.t.Helper()
	if _, err := o.Delete(testContext(o.t), key); err != nil {
		o.t.Fatal(err)
	}
}

func (o operator) put(key, value string) {
	o.t.Helper()
	if _, err := o.Put(testContext(o.t), key, value); err != nil {
		o.t.Fatal(err)
	}
}

func (o operator) revoke(id clientv3.LeaseID) {
	o.t.Helper()
	if _, err := o.Revoke(testContext(o.t), id); err != nil {
		o.t.Fatal(err)
	}
}

func (o operator) compact() {
	o.t.Helper()
	resp, err := o.Get(testContext(o.t), "any")
	if err != nil {
		o.t.Fatal(err)
	}
	if _, err := o.Compact(testContext(o.t), resp.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		o.t.Fatal(err)
	}
}

// leases returns how many leases there are on the whole server.
func (o operator) leases() int {
	o.t.Helper()
	resp, err := o.Leases(testContext(o.t))
	if err != nil {
		o.t.Fatal(err)
	}
	return len(resp.Leases)
}
