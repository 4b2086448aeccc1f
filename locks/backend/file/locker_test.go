package file

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

func TestHeldTellsWho(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	a := openWith(t, dir, locks.Options{Name: "a", Holder: "host/1/\x1b[2J \"é\"", Version: "v1"})
	g := hold(t, a)
	_, err := open(t, dir).Acquire(t.Context(), true)
	h, ok := errors.AsType[*locks.HeldError](err)
	if !ok {
		t.Fatalf("got %v; want a *HeldError", err)
	}
	host, _ := os.Hostname()
	got := h.Status
	if age := time.Since(got.Since); age < -time.Second || age > testPatience {
		t.Errorf("held since %v", got.Since)
	}
	got.Since = time.Time{}
	if want := (locks.Status{Held: true, Holder: a.o.Holder, RunID: a.o.RunID, Host: host, PID: os.Getpid(), Token: g.Token, Start: locks.StartClean}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

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
	eventually(t, "the abandoned winner closes the file", func() bool { return openFiles(t, l.path) == 0 })
	if g := pass(t, dir); !g.Clean {
		t.Error("the abandoned winner has not released the lock")
	}
}

func TestCancelledWaiterTakesNothing(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	a, b := open(t, dir), open(t, dir)
	g := hold(t, a)
	ctx, cancel := context.WithCancel(t.Context())
	done := waiting(t, ctx, b)
	cancel()
	if err := within(t, done, "cancelled Acquire"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled Acquire: %v", err)
	}
	_ = a.Close() // dies
	eventually(t, "the abandoned waiter closes the file", func() bool { return openFiles(t, a.path) == 0 })
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
	if err := within(t, done, "Acquire of a closed handle"); !errors.Is(err, os.ErrClosed) {
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
	within(t, asked, "the waiter finding the old holder")
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
	within(t, asked, "the waiter finding the new holder")
	release(t, c)
	if err := within(t, done, "Acquire after both releases"); err != nil {
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

func TestRenew(t *testing.T) {
	t.Parallel()
	l := open(t, testDir(t))
	if g := hold(t, l); g.TTL != 0 {
		t.Errorf("TTL %v", g.TTL)
	}
	if err := l.Renew(t.Context()); !errors.Is(err, locks.ErrNoLease) {
		t.Errorf("got %v; want ErrNoLease", err)
	}
}

// TestClean checks Clean of a new lock, after a release, and after a death.
func TestClean(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	for i, want := range []bool{true, true, true} {
		if g := pass(t, dir); g.Clean != want {
			t.Errorf("acquisition %d: clean is %v", i, g.Clean)
		}
	}
	token, kill := held(t, dir)
	kill()
	g := pass(t, dir)
	if g.Clean || g.Token <= token {
		t.Errorf("after the death of the holder of token %d: %+v", token, g)
	}
	if g := pass(t, dir); !g.Clean {
		t.Error("after the following release, the grant is not clean")
	}
}

func TestGarbage(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"empty":  "",
		"zeros":  string(make([]byte, 3*blockSize)),
		"a lot":  string(make([]byte, 1<<20)),
		"cut":    string(sealBlock([]byte("1"))[:512]),
		"a hole": string(make([]byte, 2*blockSize)) + string(sealBlock([]byte("1"))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := testDir(t)
			before := pass(t, dir)
			if err := os.WriteFile(open(t, dir).path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if g := pass(t, dir); g.Token <= before.Token {
				t.Errorf("token %d after %d", g.Token, before.Token)
			}
		})
	}
}

// TestDeletedFile deletes the file of a free lock, which is then like a new lock.
func TestDeletedFile(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	last := uint64(0)
	for range 50 {
		g := pass(t, dir)
		if g.Token <= last {
			t.Fatalf("token %d after %d", g.Token, last)
		}
		last = g.Token
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}
