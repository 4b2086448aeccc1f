package file

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		os.Exit(roles()[role]())
	}
	goleak.VerifyTestMain(m)
}

// needs skips a test that cannot run here. In CI that is a failure.
func needs(t *testing.T, met bool, what string) {
	t.Helper()
	switch {
	case met:
	case os.Getenv("CI") == "true":
		t.Fatalf("in CI without %s", what)
	default:
		t.Skipf("without %s", what)
	}
}

// testDir returns a directory that does not exist yet. It is not below TempDir, whose removal
// fails if an abandoned Acquire creates the lock file at that moment.
func testDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "leaderrun-file-")
	if err == nil {
		err = os.Chmod(dir, 0o755) // for tests as other users
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 1000 {
			if os.RemoveAll(dir) == nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
	return filepath.Join(dir, "locks")
}

func dirURL(dir string) *url.URL { return &url.URL{Scheme: "file", Path: dir} }

// open makes a handle on the lock "a" in dir, and closes it when the test ends.
func open(t testing.TB, dir string) *Locker {
	t.Helper()
	return openWith(t, dir, locks.Options{Name: "a", Holder: "host/1/" + t.Name(), Version: "v1", RunID: "5e0f31c2a97b4d68"})
}

func openWith(t testing.TB, dir string, o locks.Options) *Locker {
	t.Helper()
	l, err := Open(t.Context(), dirURL(dir), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.(*Locker)
}

// on makes a handle believe that its files are on a certain file system.
func on(fs fileSystem) func(*os.File) (fileSystem, error) {
	return func(*os.File) (fileSystem, error) { return fs, nil }
}

func hold(t testing.TB, l *Locker) locks.Grant {
	t.Helper()
	g, err := l.Acquire(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func release(t testing.TB, l *Locker) {
	t.Helper()
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// ways returns the ways in which a lock file ceases to be the one that others lock.
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

// pass acquires the lock in dir with a new handle, and releases it.
func pass(t testing.TB, dir string) locks.Grant {
	t.Helper()
	l := open(t, dir)
	g := hold(t, l)
	release(t, l)
	return g
}

// waiting starts an Acquire on l and returns once it waits. The channel receives the
// result.
func waiting(t *testing.T, ctx context.Context, l *Locker) <-chan error {
	t.Helper()
	asked := make(chan locks.Waiting, 1)
	l.o.Waiting = func(w locks.Waiting) { asked <- w }
	done := make(chan error, 1)
	go func() { _, err := l.Acquire(ctx, false); done <- err }()
	select {
	case <-asked:
	case err := <-done:
		t.Fatalf("got %v instead of waiting", err)
	case <-time.After(drive.Patience):
		t.Fatal("Waiting was not called")
	}
	return done
}

// refusal checks the error of a refused operation: its class, that it contains all of the
// words, and that it has a hint.
func refusal(t *testing.T, err, class error, words ...string) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Fatalf("got %v; want one of the class %q", err, class)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not mention %q", err, w)
		}
	}
	if locks.Hint(err) == "" {
		t.Errorf("%q has no hint", err)
	}
}
