package file

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

func forget(t *testing.T, l *Locker) {
	t.Helper()
	if err := l.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestForget checks that Forget deletes all files of the lock and none of others, and
// that it succeeds if there are no files or not even a directory.
func TestForget(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	l := open(t, dir)
	forget(t, l)
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a directory: %v", err)
	}
	pass(t, dir)
	other := openWith(t, dir, locks.Options{Name: "a.lock"})
	g := hold(t, other)
	setRecord(t, other, "x")
	ask(t, other, g.Token, "x")
	for range 2 {
		before := pass(t, dir)
		a := open(t, dir)
		g := hold(t, a)
		setRecord(t, a, "x")
		ask(t, a, g.Token, "x")
		release(t, a)
		forget(t, l)
		forget(t, l)
		if left, _ := filepath.Glob(dir + "/*"); len(left) != 3 {
			t.Errorf("left: %q", left)
		}
		if after := pass(t, dir); after.Token <= g.Token || g.Token <= before.Token {
			t.Errorf("tokens: %d, %d, and after Forget %d", before.Token, g.Token, after.Token)
		}
	}
	if _, err := other.Record(t.Context()); err != nil || inspect(t, other).Token != g.Token {
		t.Errorf("another lock: %+v, %v", inspect(t, other), err)
	}
}

// TestForgetHeld checks that Forget deletes nothing while anybody holds the lock.
func TestForgetHeld(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	a := open(t, dir)
	g := hold(t, a)
	setRecord(t, a, "x")
	for _, l := range []*Locker{a, open(t, dir)} {
		err := l.Forget(t.Context())
		if h, ok := errors.AsType[*locks.HeldError](err); !ok || h.Status.Token != g.Token {
			t.Errorf("got %v", err)
		}
	}
	if text, err := a.Record(t.Context()); string(text) != "x" || err != nil || inspect(t, a).Token != g.Token {
		t.Errorf("afterwards: %q, %v, %+v", text, err, inspect(t, a))
	}
	release(t, a)
	f := locked(t, a)
	defer f.Close()
	if err := a.Forget(t.Context()); !errors.Is(err, locks.ErrHeld) {
		t.Errorf("held by another program: got %v", err)
	}
}

// TestForgetBehindTheClock checks that Forget deletes nothing while the tokens of a new
// file, which start from the clock, would be below those already used, in this boot or an
// earlier one.
func TestForgetBehindTheClock(t *testing.T) {
	t.Parallel()
	for name, boot := range map[string]string{"this boot": "", "another boot": "another", "no boot id": noBoot} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := testDir(t)
			before := pass(t, dir)
			l := open(t, dir)
			if boot != "" {
				l.boot = func() string { return strings.Trim(boot, noBoot) }
			}
			l.now = func() time.Time { return time.Now().Add(-time.Minute) }
			err := l.Forget(t.Context())
			if !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(locks.Hint(err), "clock") {
				t.Errorf("got %v, hint %q", err, locks.Hint(err))
			}
			if after := pass(t, dir); after.Token != before.Token+1 {
				t.Errorf("token %d after %d: Forget changed the file", after.Token, before.Token)
			}
			l.now = time.Now
			forget(t, l)
			if after := pass(t, dir); after.Token <= before.Token {
				t.Errorf("token %d after %d", after.Token, before.Token)
			}
		})
	}
}

// TestForgetInspected checks that an inspection does not count as a holder.
func TestForgetInspected(t *testing.T) {
	t.Parallel()
	forget(t, inspected(t, testDir(t)))
}

// TestForgetRace forgets the lock all the time while others take it: there is never more
// than one holder, and tokens rise.
func TestForgetRace(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	f := fence(filepath.Join(t.TempDir(), "fence"))
	var forgotten atomic.Int64
	done := make(chan struct{})
	var forgetters, contenders sync.WaitGroup
	for range 3 {
		l := open(t, dir)
		forgetters.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				switch err := l.Forget(t.Context()); {
				case err == nil:
					forgotten.Add(1)
				case !errors.Is(err, locks.ErrHeld):
					t.Error(err)
					return
				}
			}
		})
	}
	for range 8 {
		contenders.Go(func() {
			for range 40 {
				if err := passFenced(t, dir, f, false); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	contenders.Wait()
	close(done)
	forgetters.Wait()
	if forgotten.Load() == 0 {
		t.Error("the lock was never forgotten")
	}
}
