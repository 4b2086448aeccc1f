package file

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

func setRecord(t *testing.T, l *Locker, text string) {
	t.Helper()
	if err := l.SetRecord(t.Context(), []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func wantRecord(t *testing.T, l *Locker, want string) {
	t.Helper()
	if got, err := l.Record(t.Context()); err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// TestRecordOfADeletedLock: once the lock file is another's, we must not set the record.
func TestRecordOfADeletedLock(t *testing.T) {
	t.Parallel()
	for name, remove := range ways() {
		if strings.HasPrefix(name, "directory") {
			continue // the record is gone as well
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := testDir(t)
			a := open(t, dir)
			hold(t, a)
			setRecord(t, a, "before")
			if err := remove(a.path); err != nil {
				t.Fatal(err)
			}
			if err := a.SetRecord(t.Context(), []byte("after")); !errors.Is(err, locks.ErrLost) {
				t.Errorf("got %v; want ErrLost", err)
			}
			wantRecord(t, a, "before")
			noTemporaries(t, dir)
		})
	}
}

func noTemporaries(t *testing.T, dir string) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(dir, "~*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// TestRecordIsNotALink: a record that is a link is not read. Replacing it does not change
// the link's target.
func TestRecordIsNotALink(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	l := open(t, dir)
	hold(t, l)
	secret, path := filepath.Join(t.TempDir(), "secret"), l.beside(recordSuffix)
	if err := errors.Join(os.WriteFile(secret, []byte("secret"), 0o600), os.Symlink(secret, path)); err != nil {
		t.Fatal(err)
	}
	_, err := l.Record(t.Context())
	refusal(t, err, locks.ErrDenied, "is a symbolic link")
	setRecord(t, l, "mine")
	wantRecord(t, l, "mine")
	if got, err := os.ReadFile(secret); err != nil || string(got) != "secret" {
		t.Errorf("the target of the link has become %q, %v", got, err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("the record is %v, %v", info.Mode(), err)
	}
	noTemporaries(t, dir)
}

// TestRecordOfOthers checks that an untrusted record is not read.
func TestRecordOfOthers(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	l := open(t, dir)
	hold(t, l)
	setRecord(t, l, "x")
	if err := os.Chmod(l.beside(recordSuffix), 0o622); err != nil {
		t.Fatal(err)
	}
	_, err := l.Record(t.Context())
	refusal(t, err, locks.ErrDenied, "can be written by other users")
}

// hanging makes a handle hang when it next asks for a file system, as it does before it
// writes the record, until goOn is closed.
func hanging(l *Locker) (begun, goOn chan struct{}) {
	begun, goOn = make(chan struct{}), make(chan struct{})
	l.fileSystem = func(*os.File) (fileSystem, error) { close(begun); <-goOn; return fileSystem{"ext4", local}, nil }
	return begun, goOn
}

// TestReleaseWaitsForTheRecord: a record under way is written before the lock is
// another's, or not at all. A hanging disk stands for any slow one.
func TestReleaseWaitsForTheRecord(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	l := open(t, dir)
	hold(t, l)
	begun, goOn := hanging(l)
	set := make(chan error, 1)
	go func() { set <- l.SetRecord(t.Context(), []byte("last")) }()
	drive.Within(t, drive.Patience, begun)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Release(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Release during SetRecord: got %v; want context.Canceled", err)
	}
	if _, err := open(t, dir).Acquire(t.Context(), true); !errors.Is(err, locks.ErrHeld) {
		t.Errorf("got %v; want ErrHeld", err)
	}
	close(goOn)
	if err := drive.Within(t, drive.Patience, set); err != nil {
		t.Error(err)
	}
	release(t, l)
	next := open(t, dir)
	hold(t, next)
	wantRecord(t, next, "last")
}

// TestRecordTooLate: the term ends while a SetRecord waits for its turn.
func TestRecordTooLate(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	l := open(t, dir)
	hold(t, l)
	setRecord(t, l, "before")
	ended := l.current()
	release(t, l)
	if err := l.setIn(t.Context(), ended, []byte("after")); !errors.Is(err, locks.ErrLost) {
		t.Errorf("got %v; want ErrLost", err)
	}
	wantRecord(t, l, "before")
}

// TestCloseBesideTheRecord: Close returns at once; the lock is free when the record has
// been written.
func TestCloseBesideTheRecord(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	l := open(t, dir)
	hold(t, l)
	begun, goOn := hanging(l)
	set := make(chan error, 1)
	go func() { set <- l.SetRecord(t.Context(), []byte("last")) }()
	drive.Within(t, drive.Patience, begun)
	_ = l.Close()
	other := open(t, dir)
	if _, err := other.Acquire(t.Context(), true); !errors.Is(err, locks.ErrHeld) {
		t.Errorf("got %v; want ErrHeld", err)
	}
	close(goOn)
	if err := drive.Within(t, drive.Patience, set); err != nil {
		t.Error(err)
	}
	drive.Eventually(t, drive.Patience, "the lock is free", func() bool { _, err := other.Acquire(t.Context(), true); return err == nil })
	wantRecord(t, other, "last")
}
