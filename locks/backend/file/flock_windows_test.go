package file

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

// TestCarried: a lock whose holder has died is held as long as a process carries it on.
func TestCarried(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	holder, guard := openAgain(t, path), openAgain(t, path)
	taken(t, holder, true)
	if err := locks.Carry(guard); err != nil {
		t.Fatal(err)
	}
	_ = holder.Close()
	taken(t, openAgain(t, path), false)

	waiter := openAgain(t, path)
	var free atomic.Bool
	won := make(chan error, 1)
	go func() {
		err := waitLock(waiter)
		if err == nil && !free.Load() {
			err = errors.New("acquired a lock that is carried on")
		}
		won <- err
	}()
	for { // the waiter has the first lock by now, and waits for the second
		ok, err := tryHolders(openAgain(t, path))
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
	}
	free.Store(true)
	_ = guard.Close()
	if err := <-won; err != nil {
		t.Fatal(err)
	}
	if err := locks.Carry(waiter); err != nil {
		t.Errorf("the holder cannot hand the lock on: %v", err)
	}
}

// tryHolders takes the first of the two locks, and gives it back.
func tryHolders(f *os.File) (bool, error) {
	defer f.Close()
	ok, err := tryHolder(f)
	if ok {
		err = unlock(f)
	}
	return ok, err
}

func taken(t *testing.T, f *os.File, want bool) {
	t.Helper()
	if got, err := tryLock(f); got != want || err != nil {
		t.Fatalf("got %t, %v; want %t", got, err, want)
	}
}

func openAgain(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}
