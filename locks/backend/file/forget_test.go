package file

import (
	"errors"
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
