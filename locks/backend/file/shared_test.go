package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks"
)

// team is the group of the shared directories of these tests.
const team = 54321

// shareDir makes a directory that the group shares. Only root can.
func shareDir(t *testing.T) string {
	t.Helper()
	needs(t, os.Geteuid() == 0, "root")
	dir := filepath.Join(shortDir(t), "locks")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 0, team), os.Chmod(dir, os.ModeSticky|0o770)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestSharedDistrust makes the directory, or the file, something that a member could have
// made to harm another. Then nothing may be written, not even in a file that it links to.
func TestSharedDistrust(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		spoil func(dir, path string) error
		words []string
	}{
		{"directory is not sticky", func(dir, _ string) error { return os.Chmod(dir, 0o770) }, []string{"locks\" can be written by other users"}},
		{"directory is only setgid", func(dir, _ string) error { return os.Chmod(dir, os.ModeSetgid|0o770) }, []string{"locks\" can be written by other users"}},
		{"directory is everybody's", func(dir, _ string) error { return os.Chmod(dir, os.ModeSticky|0o777) }, []string{"locks\" can be written by other users"}},
		{"directory is a member's", func(dir, _ string) error { return os.Chown(dir, nobody, team) }, []string{"locks\" belongs to another user"}},
		{"file is private", func(_, path string) error { return os.Chmod(path, 0o600) }, []string{"a.lock\" has the group 54321 and the mode 0600"}},
		{"file is everybody's", func(_, path string) error { return os.Chmod(path, 0o666) }, []string{"and the mode 0666"}},
		{"file is everybody's to read", func(_, path string) error { return os.Chmod(path, 0o664) }, []string{"and the mode 0664"}},
		{"file would run as its group", func(_, path string) error { return os.Chmod(path, os.ModeSetgid|0o660) }, []string{"a.lock\" has the group"}},
		{"file is another group's", func(_, path string) error { return os.Chown(path, 0, 0) }, []string{"a.lock\" has the group 0"}},
		{"file is a hard link to a private file", func(dir, path string) error {
			private := dir + ".private"
			return errors.Join(os.WriteFile(private, []byte("precious"), 0o644), os.Remove(path), os.Link(private, path))
		}, []string{"a.lock\" has the group 0 and the mode 0644"}},
		{"file is a link", func(dir, path string) error {
			return errors.Join(os.Rename(path, dir+".real"), os.Symlink(dir+".real", path))
		}, []string{"a.lock\" is a symbolic link"}},
		{"file is a link to nothing", func(dir, path string) error {
			return errors.Join(os.Remove(path), os.Symlink(dir+".new", path))
		}, []string{"a.lock\" is a symbolic link"}},
		{"file is a pipe", func(_, path string) error {
			return errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600), os.Chown(path, 0, team), os.Chmod(path, 0o660))
		}, []string{"a.lock\" was not made by leaderrun: it is not a regular file"}},
		{"file is a directory", func(_, path string) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o770))
		}, []string{"a.lock\" was not made by leaderrun"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			refusesSpoiled(t, shareDir(t), tt.spoil, tt.words)
		})
	}
}

// TestSharedFile: the file of whoever comes first is the group's from the moment at which
// others can find it, and nothing else is left. A file of another member is as good.
func TestSharedFile(t *testing.T) {
	t.Parallel()
	dir := shareDir(t)
	path := open(t, dir).path
	for _, owner := range []int{0, nobody} {
		pass(t, dir)
		info, err := os.Stat(path)
		if err != nil || info.Mode() != sharedMode || gidOf(info) != team || int(uidOf(info)) != owner {
			t.Errorf("got %v, %v", info, err)
		}
		if err := os.Chown(path, nobody, team); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("the directory has %v, %v; want only the lock file", all, err)
	}
}

// TestSharedFirst: of many who make the file at once, one at a time holds the lock. Whoever
// finds the file can use it.
func TestSharedFirst(t *testing.T) {
	t.Parallel()
	dir := shareDir(t)
	for n := range 100 {
		name := strconv.Itoa(n)
		path := filepath.Join(dir, fileName(name))
		var holders atomic.Int32
		done := make(chan error)
		const all = 4
		for range all {
			go func() {
				l, err := Open(t.Context(), dirURL(dir), locks.Options{Name: name})
				if err == nil {
					_, err = l.Acquire(t.Context(), false)
				}
				if err == nil {
					if holders.Add(1) != 1 {
						err = errors.New("two hold the lock")
					}
					holders.Add(-1)
					err = errors.Join(err, l.Release(t.Context()), l.Close())
				}
				done <- err
			}()
		}
		info, err := os.Stat(path)
		for errors.Is(err, fs.ErrNotExist) {
			info, err = os.Stat(path)
		}
		if err != nil || info.Mode() != sharedMode || gidOf(info) != team {
			t.Errorf("found %v, %v", info, err)
		}
		for range all {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
}

// TestSharedAbilities: nothing that a member could not do everywhere is offered, and the
// attempt leaves nothing.
func TestSharedAbilities(t *testing.T) {
	t.Parallel()
	dir := shareDir(t)
	l := open(t, dir)
	hold(t, l)
	for _, a := range []locks.Ability{locks.CanRecord, locks.CanAsk} {
		if err := locks.Require(t.Context(), l, "x", a); !errors.Is(err, locks.ErrUsage) {
			t.Errorf("%s: %v", a, err)
		}
	}
	if err := locks.Require(t.Context(), l, "x", locks.CanInspect, locks.CanList, locks.CanForget); err != nil {
		t.Error(err)
	}
	if err := l.SetRecord(t.Context(), []byte("x")); !errors.Is(err, locks.ErrUsage) {
		t.Errorf("SetRecord: %v", err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("the directory has %v, %v; want only the lock file", all, err)
	}
	release(t, l)
}
