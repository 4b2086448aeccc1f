package zookeeper_test

import (
	"context"
	"flag"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/zookeeper"
	"github.com/leaderrun/leaderrun/locks/zookeeper/zktest"
)

// TestMain takes the tester's own ZooKeeper out of the environment.
func TestMain(m *testing.M) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "ZK_") || strings.HasPrefix(name, "LEADERRUN_ZK_") {
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
	l, err := zookeeper.Open(testContext(t), u, o)
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

func renew(t testing.TB, l locks.Lock) {
	t.Helper()
	if err := l.Renew(testContext(t)); err != nil {
		t.Errorf("renew: %v", err)
	}
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
	*zk.Conn
}

func operate(t testing.TB, s *zktest.Server) operator {
	c := s.Client()
	t.Cleanup(c.Close)
	return operator{t, c}
}

// entries returns the names of the nodes in a queue, the oldest first.
func (o operator) entries(queue string) []string {
	o.t.Helper()
	names, _, err := o.Children(queue)
	if err != nil && err != zk.ErrNoNode {
		o.t.Fatal(err)
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(number(a), number(b)) })
	return names
}

func number(name string) string { return name[strings.LastIndex(name, "_")+1:] }

func (o operator) delete(path string) {
	o.t.Helper()
	if err := o.Delete(path, -1); err != nil && err != zk.ErrNoNode {
		o.t.Fatal(err)
	}
}

// put makes a node, or overwrites it.
func (o operator) put(path string, data string) {
	o.t.Helper()
	_, err := o.Create(path, []byte(data), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	switch err {
	case zk.ErrNodeExists:
		_, err = o.Set(path, []byte(data), -1)
	case zk.ErrNoNode:
		o.put(path[:strings.LastIndex(path, "/")], "")
		o.put(path, data)
		return
	}
	if err != nil {
		o.t.Fatal(err)
	}
}

// tree returns all paths below a node, those of leaves only.
func (o operator) tree(root string) (leaves []string) {
	o.t.Helper()
	names, _, err := o.Children(root)
	if err != nil && err != zk.ErrNoNode {
		o.t.Fatal(err)
	}
	for _, name := range names {
		below := o.tree(root + "/" + name)
		if below == nil {
			below = []string{root + "/" + name}
		}
		leaves = append(leaves, below...)
	}
	return leaves
}
