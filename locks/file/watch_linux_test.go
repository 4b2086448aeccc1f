package file

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// ways are those in which a lock file ceases to be the one that others lock.
func ways() map[string]func(path string) error {
	return map[string]func(path string) error{
		"deleted": os.Remove,
		"renamed": func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+".new", nil, 0o600), os.Rename(path+".new", path))
		},
		"directory renamed": func(path string) error { return os.Rename(filepath.Dir(path), filepath.Dir(path)+".old") },
		"directory deleted": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
	}
}

// TestLost removes the file at once, before there is a watch, and after.
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
					eventually(t, "a watch", func() bool { return isWatched(t, l.path) && isWatched(t, dir) })
				}
				if err := remove(l.path); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				err := within(t, l.Lost(), "Lost")
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
		text, _ := os.ReadFile(filepath.Join(fds, fd.Name())) // it may be closed by now
		return bytes.Contains(text, []byte("inotify")) && bytes.Contains(text, []byte(watch))
	})
}

// TestNotLost changes what does not matter.
func TestNotLost(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	l := open(t, dir)
	hold(t, l)
	eventually(t, "a watch", func() bool { return isWatched(t, l.path) && isWatched(t, dir) })
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
