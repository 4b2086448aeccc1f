package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestLost removes the file before and after a watch exists.
func TestLost(t *testing.T) {
	t.Parallel()
	for name, remove := range ways() {
		for when, watched := range map[string]bool{"before": false, "after": true} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				dir := testDir(t)
				l := open(t, dir)
				hold(t, l)
				if watched {
					drive.Eventually(t, drive.Patience, "a watch", func() bool { return isWatched(t, l.path) && isWatched(t, dir) })
				}
				if err := remove(l.path); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				err := drive.Within(t, drive.Patience, l.Lost())
				refusal(t, err, locks.ErrLost, l.path)
				t.Logf("after %v: %v", time.Since(start), err)
				release(t, l)
				if g := pass(t, dir); g.Token == 0 {
					t.Error("no token")
				}
			})
		}
	}
}

// isWatched reports whether this process has an inotify watch on path.
func isWatched(t *testing.T, path string) bool {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	watch := fmt.Sprintf(" ino:%x ", info.Sys().(*syscall.Stat_t).Ino)
	const fds = "/proc/self/fdinfo"
	all, err := os.ReadDir(fds)
	needs(t, err == nil, fds)
	return slices.ContainsFunc(all, func(fd os.DirEntry) bool {
		text, _ := os.ReadFile(filepath.Join(fds, fd.Name())) // may be closed by now
		return bytes.Contains(text, []byte("inotify")) && bytes.Contains(text, []byte(watch))
	})
}

// TestNotLost makes changes that do not matter.
func TestNotLost(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	l := open(t, dir)
	hold(t, l)
	drive.Eventually(t, drive.Patience, "a watch", func() bool { return isWatched(t, l.path) && isWatched(t, dir) })
	other := openWith(t, dir, locks.Options{Name: "b"})
	hold(t, other)
	release(t, other)
	for _, err := range []error{
		os.Chmod(l.path, 0o640), os.Chtimes(l.path, time.Now(), time.Now()),
		os.Link(l.path, l.path+".link"), os.Remove(l.path + ".link"), os.Remove(other.path),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := open(t, dir).Acquire(t.Context(), true); !errors.Is(err, locks.ErrHeld) {
		t.Errorf("got %v; want ErrHeld", err)
	}
	release(t, l)
	if isWatched(t, l.path) {
		t.Error("there is a watch after Release")
	}
	select {
	case err := <-l.Lost():
		t.Error(err)
	default:
	}
}

// TestSleepsUntilAsked checks that changes to other locks do not wake a holder up.
func TestSleepsUntilAsked(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	l, other := open(t, dir), openWith(t, dir, locks.Options{Name: "b"})
	hold(t, l)
	g := hold(t, other)
	info, err := os.Lstat(l.path)
	if err != nil {
		t.Fatal(err)
	}
	touched := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- awaitRemoval(ctx, l.path, info, func() { t.Error("gone") }, func() { touched <- struct{}{} })
	}()
	drive.Within(t, drive.Patience, touched)
	for range 5 {
		ask(t, other, g.Token, "x")
		setRecord(t, other, "x")
		setRecord(t, l, "x")
	}
	ask(t, l, l.current().entry.token, "x")
	drive.Within(t, drive.Patience, touched)
	cancel()
	if err := drive.Within(t, drive.Patience, done); err != nil {
		t.Error(err)
	}
	if n := len(touched); n > 0 {
		t.Errorf("the holder woke up %d times more", n)
	}
}
