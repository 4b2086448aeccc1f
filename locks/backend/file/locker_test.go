package file

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// locked makes another program lock the file of l, which exists.
func locked(t *testing.T, l *Locker) *os.File {
	t.Helper()
	f, err := os.OpenFile(l.path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := waitLock(f); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestHeldByNobodyWeKnow: the process that has locked the file is not entered in it.
func TestHeldByNobodyWeKnow(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	a, b, c := open(t, dir), open(t, dir), open(t, dir)
	refused := func(l *Locker) {
		t.Helper()
		_, err := l.Acquire(t.Context(), true)
		if h, ok := errors.AsType[*locks.HeldError](err); !ok || h.Status != (locks.Status{Held: true}) {
			t.Errorf("got %v, %+v", err, h)
		}
	}
	pass(t, dir)
	f := locked(t, b)
	refused(b)
	_ = f.Close()
	hold(t, a)
	c.boot = func() string { return "another" } // c sees a reboot
	refused(c)
}

// TestSecondGlance: a process that has locked the file, but is not entered in it, gives
// it back.
func TestSecondGlance(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	l := open(t, dir)
	pass(t, dir)
	f := locked(t, l)
	l.boot = func() string { // called between the first and the second look
		_ = unlock(f)
		return clock.BootID()
	}
	hold(t, l)
}

// TestCancelledWinner cancels an Acquire that already has the lock.
func TestCancelledWinner(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	l := open(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	returned := make(chan struct{})
	l.now = func() time.Time { // called between the lock and the entry
		cancel()
		<-returned
		return time.Now()
	}
	if _, err := l.Acquire(ctx, true); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	close(returned)
	drive.Eventually(t, drive.Patience, "the abandoned winner closes the file", func() bool { return openFiles(t, l.path) == 0 })
	if g := pass(t, dir); !g.Clean {
		t.Error("the abandoned winner has not released the lock")
	}
}

// givesUp has a handle wait, and cancels that.
func givesUp(t *testing.T, l *Locker) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := waiting(t, ctx, l)
	cancel()
	if err := drive.Within(t, drive.Patience, done); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled Acquire: %v", err)
	}
}

func TestCancelledWaiterTakesNothing(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	a, b := open(t, dir), open(t, dir)
	g := hold(t, a)
	givesUp(t, b)
	_ = a.Close() // dies
	drive.Eventually(t, drive.Patience, "the abandoned waiter closes the file", func() bool { return openFiles(t, a.path) == 0 })
	next := pass(t, dir)
	if next.Clean {
		t.Error("the grant is clean although the holder did not release")
	}
	if next.Token != g.Token+1 {
		t.Errorf("token %d after %d: the abandoned waiter took one", next.Token, g.Token)
	}
}

func TestCloseEndsAcquire(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	a, b := open(t, dir), open(t, dir)
	hold(t, a)
	done := waiting(t, t.Context(), b)
	_ = b.Close()
	if err := drive.Within(t, drive.Patience, done); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v; want one that wraps os.ErrClosed", err)
	}
}

func TestOneTermPerHandle(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	l := open(t, dir)
	hold(t, l)
	release(t, l)
	if _, err := l.Acquire(t.Context(), true); err == nil {
		t.Error("the same handle served a second term")
	}
	pass(t, dir)
}

// TestWaiterOutlastsDeletion: the file of a held lock is deleted. A waiter waits until
// its holder is gone, and then for the holder of the new file.
func TestWaiterOutlastsDeletion(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	a, b, c := open(t, dir), open(t, dir), open(t, dir)
	hold(t, a)
	asked := make(chan locks.Waiting, 2)
	b.o.Waiting = func(w locks.Waiting) { asked <- w }
	done := make(chan error, 1)
	go func() { _, err := b.Acquire(t.Context(), false); done <- err }()
	drive.Within(t, drive.Patience, asked)
	if err := os.Remove(a.path); err != nil {
		t.Fatal(err)
	}
	hold(t, c)
	select {
	case err := <-done:
		t.Fatalf("acquired while the old and the new holder have locks: %v", err)
	default:
	}
	release(t, a)
	drive.Within(t, drive.Patience, asked)
	release(t, c)
	if err := drive.Within(t, drive.Patience, done); err != nil {
		t.Error(err)
	}
}

// TestFileOutlivesClose checks what the guard relies on: a process that has the open file
// keeps the lock held, and Release frees it for all.
func TestFileOutlivesClose(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"close", "release"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			dir := testDir(t)
			l := open(t, dir)
			if l.File() != nil {
				t.Error("there is a file before Acquire")
			}
			hold(t, l)
			guard := inRole(t, "hold", testDir(t)) // stands for any process that has the file
			guard.ExtraFiles = []*os.File{l.File()}
			in, err := guard.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := guard.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = in.Close(); _ = guard.Wait() }()
			if how == "close" {
				_ = l.Close()
				if _, err := open(t, dir).Acquire(t.Context(), true); !errors.Is(err, locks.ErrHeld) {
					t.Errorf("closed by us, open in the guard: got %v; want ErrHeld", err)
				}
				_ = in.Close()
				_ = guard.Wait()
			} else {
				release(t, l)
			}
			if l.File() != nil {
				t.Error("there is a file after the term")
			}
			pass(t, dir)
		})
	}
}

// TestWaitsAgain: whoever waits for a lock again and again leaves nothing behind, and gets it at
// once in the end.
func TestWaitsAgain(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	a := open(t, dir)
	hold(t, a)
	for range 40 {
		b := open(t, dir)
		givesUp(t, b)
		_ = b.Close()
		time.Sleep(10 * time.Millisecond) // what was abandoned at the same time cannot be shared
	}
	few := func() bool { return openFiles(t, a.path) <= 10 }
	drive.Eventually(t, drive.Patience, "few files are open", few)
	done := waiting(t, t.Context(), open(t, dir))
	drive.Eventually(t, drive.Patience, "it waits with what was left", few)
	drive.Release(t, a)
	if err := drive.Within(t, drive.Patience, done); err != nil {
		t.Errorf("the last one: %v", err)
	}
}

// TestWaitsForAnother: what waits for a file that was replaced is not used for the new one.
func TestWaitsForAnother(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	a := open(t, dir)
	hold(t, a)
	givesUp(t, open(t, dir))
	if err := os.Remove(a.path); err != nil {
		t.Fatal(err)
	}
	b := open(t, dir)
	hold(t, b)
	done := waiting(t, t.Context(), open(t, dir))
	drive.Release(t, b)
	if err := drive.Within(t, drive.Patience, done); err != nil {
		t.Errorf("the waiter for the new file: %v", err)
	}
}
