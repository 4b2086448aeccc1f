package file

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

func inspect(t *testing.T, l *Locker) locks.State {
	t.Helper()
	st, err := l.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// TestInspectMakesNothing also checks that a lock that was never held is free.
func TestInspectMakesNothing(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	l := open(t, dir)
	if st := inspect(t, l); st.Held {
		t.Errorf("got %+v", st)
	}
	if text, err := l.Record(t.Context()); text != nil || err != nil {
		t.Errorf("got the record %q, %v", text, err)
	}
	if err := l.Ask(t.Context(), 1, []byte("x")); err != nil {
		t.Errorf("ask: %v", err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory exists: %v", err)
	}
}

// TestInspectAfterACrash checks that a dead holder in the lock file is not reported as
// the holder.
func TestInspectAfterACrash(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	a, w := open(t, dir), open(t, dir)
	hold(t, a)
	if st := inspect(t, w); !st.Held || st.Holder != a.o.Holder {
		t.Errorf("got %+v", st)
	}
	_ = a.Close() // like a death
	if st := inspect(t, w); st.Held || st.Holder != "" {
		t.Errorf("got %+v", st)
	}
}

// TestInspectHeldByNobodyWeKnow: another program has locked the file, which cannot be forgotten.
func TestInspectHeldByNobodyWeKnow(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	pass(t, dir)
	l := open(t, dir)
	locked(t, l)
	if st := inspect(t, l); !st.Held || st.Holder != "" || st.Token != 0 {
		t.Errorf("got %+v", st)
	}
	if err := l.Forget(t.Context()); !errors.Is(err, locks.ErrHeld) {
		t.Errorf("forget: got %v; want ErrHeld", err)
	}
}

// TestInspectedWhileTried: a try meets an inspection of a lock whose holder has died. It
// must look once more before it reports the dead holder.
func TestInspectedWhileTried(t *testing.T) {
	t.Parallel()
	hold(t, inspected(t, testDir(t)))
}

// inspected returns a handle on the lock of a dead holder. An inspection takes place just
// when the handle tries the lock.
func inspected(t *testing.T, dir string) *Locker {
	t.Helper()
	dead, l := open(t, dir), open(t, dir)
	hold(t, dead)
	_ = dead.Close()
	f, err := os.Open(l.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := flock(f, unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	l.boot = func() string { // called when the lock was not free
		_ = unlock(f)
		return clock.BootID()
	}
	return l
}

// TestSharedByAnother: a program that shares the lock for long counts as an unknown
// holder, not as an inspection.
func TestSharedByAnother(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	pass(t, dir)
	l := open(t, dir)
	f, err := os.Open(l.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := flock(f, unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Acquire(t.Context(), true); !errors.Is(err, locks.ErrHeld) {
		t.Errorf("got %v; want ErrHeld", err)
	}
}
