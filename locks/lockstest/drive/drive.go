// Package drive has single steps with one handle, for tests of a backend's own features.
// Package lockstest tests what all backends have in common.
package drive

import (
	"context"
	"flag"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

// Patience bounds what must happen at some time on a busy machine.
const Patience = 30 * time.Second

// Main is the TestMain of a package of tests that need the environment to hold no settings
// of the tester's. See [Parallel] for n.
func Main(m *testing.M, n string) {
	tester.Forget()
	Parallel(n)
	os.Exit(m.Run())
}

// Parallel sets how many tests run at once, unless the tester does. Most tests mainly
// wait, so the number need not depend on the number of processors. It is for TestMain.
func Parallel(n string) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set(n)
	}
}

// Context returns a context that ends with the test, or after Patience.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// Open makes a handle that is closed with the test.
func Open(t testing.TB, open locks.Opener, rawURL string, o locks.Options) locks.Lock {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := open(Context(t), u, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// Hold gets the lock at once.
func Hold(t testing.TB, l locks.Lock) locks.Grant {
	t.Helper()
	g, err := l.Acquire(Context(t), true)
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	return g
}

// Renew makes one attempt, which must succeed.
func Renew(t testing.TB, l locks.Lock) {
	t.Helper()
	if err := l.Renew(Context(t)); err != nil {
		t.Errorf("renew: %v", err)
	}
}

// Release gives the lock up.
func Release(t testing.TB, l locks.Lock) {
	t.Helper()
	if err := l.Release(Context(t)); err != nil {
		t.Errorf("release: %v", err)
	}
}

// A Result is the result of an Acquire in the background.
type Result struct {
	Grant locks.Grant
	Err   error
	At    time.Time
}

// Campaign starts to wait, and returns once the wait has begun.
func Campaign(ctx context.Context, t testing.TB, open locks.Opener, rawURL string, o locks.Options) (locks.Lock, <-chan Result) {
	t.Helper()
	waiting := make(chan locks.Waiting, 1000)
	o.Waiting = func(w locks.Waiting) { waiting <- w }
	l := Open(t, open, rawURL, o)
	done := make(chan Result, 1)
	go func() {
		g, err := l.Acquire(ctx, false)
		done <- Result{g, err, time.Now()}
	}()
	select {
	case <-waiting:
	case r := <-done:
		t.Fatalf("got %+v, %v instead of waiting", r.Grant, r.Err)
	case <-time.After(Patience):
		t.Fatal("Waiting was not called")
	}
	return l, done
}

// LossOf waits for the report of a loss.
func LossOf(t testing.TB, l locks.Lock) error {
	t.Helper()
	return Within(t, Patience, l.Lost())
}

// Within receives from c within a limit.
func Within[T any](t testing.TB, limit time.Duration, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(limit):
		t.Fatalf("nothing happened within %v", limit)
		panic("unreachable")
	}
}

// Eventually polls until ok returns true.
func Eventually(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}
