package drive

import (
	"context"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

// Inspect returns the state of the lock.
func Inspect(t testing.TB, l locks.Inspector) locks.State {
	t.Helper()
	s, err := l.Inspect(Context(t))
	if err != nil {
		t.Fatalf("inspect: %v", err)
	}
	return s
}

// Ask leaves a request for the holder with a token. It repeats what fails because servers
// are down.
func Ask(t testing.TB, l locks.Asker, token uint64, text string) {
	t.Helper()
	var err error
	defer func() {
		if t.Failed() {
			t.Logf("ask: %v", err)
		}
	}()
	Eventually(t, Patience, "the request is left", func() bool { err = l.Ask(Context(t), token, []byte(text)); return err == nil })
}

// IsAsked checks the next request that the holder receives.
func IsAsked(t testing.TB, l locks.Asker, want string) {
	t.Helper()
	if got := Within(t, Patience, l.Asked()); string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// List returns all pages, by lock name, and the number of pages.
func List(t testing.TB, l locks.Lister) (all map[string]locks.Listed, pages int) {
	t.Helper()
	all = map[string]locks.Listed{}
	for cursor := ""; pages == 0 || cursor != ""; pages++ {
		page, next, err := l.List(Context(t), cursor)
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		if len(page) > locks.MaxList || len(next) > locks.MaxCursor || pages > 100_000 {
			t.Fatalf("page %d has %d locks, and a cursor of %d bytes", pages, len(page), len(next))
		}
		for _, one := range page {
			if _, twice := all[one.Name]; twice {
				t.Errorf("%q is listed twice", one.Name)
			}
			all[one.Name] = one
		}
		cursor = next
	}
	return all, pages
}

// Watch watches one lock or all of them, for the length of the test.
func Watch(t testing.TB, l locks.Watcher, all bool) <-chan struct{} {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	changes, err := l.Watch(ctx, all)
	if err != nil {
		t.Fatalf("watch: %v", err)
	}
	return changes
}

// Changed waits until ok returns true after a reported change.
func Changed(t testing.TB, changes <-chan struct{}, what string, ok func() bool) {
	t.Helper()
	for range 100 {
		if !Change(t, changes) {
			t.Fatalf("the watch has ended: %s", what)
		}
		if ok() {
			return
		}
	}
	t.Fatalf("changes were reported, but not that %s", what)
}

// Change waits for a change, or for the end of the watch, for which it returns false.
func Change(t testing.TB, changes <-chan struct{}) (change bool) {
	t.Helper()
	select {
	case _, change = <-changes:
	case <-Context(t).Done():
		t.Fatal("no change is reported")
	}
	return change
}
