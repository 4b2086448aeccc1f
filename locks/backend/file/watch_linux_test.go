package file

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// watch watches with a new handle until the test ends.
func watch(t *testing.T, dir string, all bool) (*Locker, <-chan struct{}) {
	t.Helper()
	l := open(t, dir)
	changed, err := l.Watch(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	return l, changed
}

// settle waits until nothing more is reported about what has happened.
func settle(changed <-chan struct{}) {
	for {
		select {
		case <-changed:
		case <-time.After(2 * echoes[len(echoes)-1]):
			return
		}
	}
}

// TestWatch follows a lock through its life, from before its directory exists. An
// observer that looks after each report must see the true state in the end.
func TestWatch(t *testing.T) {
	t.Parallel()
	for name, all := range map[string]bool{"one": false, "all": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := testDir(t)
			w, changed := watch(t, dir, all)
			sees := func(what string, token uint64) {
				t.Helper()
				drive.Changed(t, changed, what, func() bool { st := inspect(t, w); return st.Token == token && st.Held == (token > 0) })
				settle(changed)
			}
			a := open(t, dir)
			sees("a new holder", hold(t, a).Token)
			release(t, a)
			sees("a release", 0)
			b := open(t, dir)
			sees("another holder", hold(t, b).Token)
			_ = b.Close()
			sees("the end of a handle", 0)
			token, kill := held(t, dir)
			sees("another process", token)
			kill()
			sees("its death", 0)
			sees("a holder", hold(t, open(t, dir)).Token)
			if err := os.Rename(dir, dir+".old"); err != nil {
				t.Fatal(err)
			}
			sees("the directory is gone", 0)
			sees("a new holder in a new directory", hold(t, open(t, dir)).Token)
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			sees("the new directory is gone", 0)
		})
	}
}

// TestWatchAll also sees a record, and a lock that is deleted.
func TestWatchAll(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	b := openWith(t, dir, locks.Options{Name: "b"})
	hold(t, b)
	_, changed := watch(t, dir, true)
	setRecord(t, b, "x")
	drive.Changed(t, changed, "a record", func() bool { return string(list(t, dir)["b"].Record) == "x" })
	settle(changed)
	release(t, b)
	drive.Changed(t, changed, "a release", func() bool { return !list(t, dir)["b"].Status.Held })
	settle(changed)
	if err := b.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	drive.Changed(t, changed, "that a lock is forgotten", func() bool { return len(list(t, dir)) == 0 })
}

// TestWatchReportsTwice: the last close of a file is an event just before the kernel frees
// its lock.
func TestWatchReportsTwice(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	pass(t, dir)
	w, changed := watch(t, dir, false)
	f, err := os.Open(w.path) // reading causes no event
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := waitLock(f); err != nil {
		t.Fatal(err)
	}
	if err := touch(dir, filepath.Base(w.path)); err != nil {
		t.Fatal(err)
	}
	drive.Within(t, drive.Patience, changed)
	if !inspect(t, w).Held {
		t.Fatal("the lock is free")
	}
	if err := unlock(f); err != nil {
		t.Fatal(err)
	}
	drive.Changed(t, changed, "that it is free by now", func() bool { return !inspect(t, w).Held })
}

// TestLookingIsNoChange checks that inspecting causes no report, because an observer that
// inspects after each report would never stop. A request to a holder is not a change, and
// neither is a change to another lock.
func TestLookingIsNoChange(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	a, w := open(t, dir), open(t, dir)
	g := hold(t, a)
	for file, all := range map[string]bool{filepath.Base(a.path): false, "": true} {
		f := &follower{locker: w, file: file}
		events, err := f.watch()
		if err != nil {
			t.Fatal(err)
		}
		defer events.Close()
		for range 3 {
			inspect(t, w)
			list(t, dir)
			_, err1 := w.Record(t.Context())
			_, err2 := w.Probe(t.Context())
			if err := errors.Join(err1, err2, w.Ask(t.Context(), g.Token, []byte("x"))); err != nil {
				t.Fatal(err)
			}
			if !all {
				setRecord(t, a, "x")
				b := openWith(t, dir, locks.Options{Name: "b"})
				hold(t, b)
				release(t, b)
			}
		}
		if err := touch(dir, "~marker"); err != nil {
			t.Fatal(err)
		}
		for buf := make([]byte, 4096); ; {
			n, err := events.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			if matters, gone := f.judge(buf[:n]); matters || gone {
				t.Errorf("all: %v: these events were taken for a change: %q", all, buf[:n])
			}
			if bytes.Contains(buf[:n], []byte("~marker")) {
				break
			}
		}
	}
}

// TestWatchWithoutInotify checks that possible changes are reported again and again.
func TestWatchWithoutInotify(t *testing.T) {
	t.Parallel()
	l := open(t, testDir(t))
	l.fileSystem = func(*os.File) (fileSystem, error) { return fileSystem{}, syscall.EMFILE }
	pass(t, l.place.dir)
	changed, err := l.Watch(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		drive.Within(t, drive.Patience, changed)
	}
}
