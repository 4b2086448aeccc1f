package file

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks"
)

// nobody is a user other than us.
const nobody = 65534

func TestModes(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	l := open(t, dir)
	pass(t, dir)
	for path, want := range map[string]os.FileMode{dir: os.ModeDir | 0o700, l.path: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: got %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
}

// TestDistrust makes the directory, or the file, something that must not be trusted. Then
// nothing may be written.
func TestDistrust(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		root  bool // only root can prepare this
		spoil func(dir, path string) error
		words []string
	}{
		{"directory is another user's link", true, func(dir, _ string) error {
			return errors.Join(relink(dir), os.Lchown(dir, nobody, 0))
		}, []string{"locks\" is a symbolic link", "locks belongs to user 65534"}},
		{"directory is a link that others could replace", false, func(dir, _ string) error {
			return errors.Join(relink(dir), os.Chmod(filepath.Dir(dir), 0o777))
		}, []string{"locks\" is a symbolic link", "can be written by anyone"}},
		{"directory is a link that a group could replace", false, func(dir, _ string) error {
			return errors.Join(relink(dir), os.Chmod(filepath.Dir(dir), 0o770))
		}, []string{"locks\" is a symbolic link", "can be written by other users"}},
		{"directory is a link where others make theirs", false, func(dir, _ string) error {
			return errors.Join(relink(dir), os.Chmod(filepath.Dir(dir), os.ModeSticky|0o777))
		}, []string{"locks\" is a symbolic link", "can be written by other users"}},
		{"directory is a link to where others can put another", false, func(dir, _ string) error {
			open := filepath.Join(filepath.Dir(dir), "open")
			return errors.Join(os.Mkdir(open, 0o700), os.Rename(dir, open+"/real"), os.Symlink("open/real", dir), os.Chmod(open, 0o777))
		}, []string{"locks\" is a symbolic link", "open can be written by anyone"}},
		{"directory is a link to what its group can write", false, func(dir, _ string) error {
			return errors.Join(relink(dir), os.Chmod(dir, 0o770))
		}, []string{"locks.real\" can be written by other users"}},
		{"directory is a link to another user's", true, func(dir, _ string) error {
			return errors.Join(relink(dir), os.Chown(dir, nobody, 0))
		}, []string{"locks.real", "belongs to user 65534"}},
		{"directory is a link to a file", false, func(dir, path string) error {
			return errors.Join(os.Rename(path, dir+".file"), os.RemoveAll(dir), os.Symlink(dir+".file", dir))
		}, []string{"locks\" is a symbolic link", "not a directory"}},
		{"directory is a link to nothing", false, func(dir, _ string) error {
			return errors.Join(os.RemoveAll(dir), os.Symlink(dir+".real", dir))
		}, []string{"locks\" is a symbolic link"}},
		{"directory is writable by its group", false, func(dir, _ string) error {
			return os.Chmod(dir, 0o770)
		}, []string{"locks\" can be written by other users"}},
		{"directory is writable by others", false, func(dir, _ string) error {
			return os.Chmod(dir, os.ModeSticky|0o703)
		}, []string{"locks\" can be written by other users"}},
		{"directory is another user's", true, func(dir, _ string) error {
			return os.Chown(dir, nobody, 0)
		}, []string{"locks\" belongs to another user (uid 65534)"}},
		{"file is a link", false, func(_, path string) error {
			return errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path))
		}, []string{"a.lock\" is a symbolic link"}},
		{"file is a link to nothing", false, func(_, path string) error {
			return errors.Join(os.Remove(path), os.Symlink(path+".new", path))
		}, []string{"a.lock\" is a symbolic link"}},
		{"file is a directory", false, func(_, path string) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
		}, []string{"a.lock\" was not made by leaderrun"}},
		{"file is a pipe", false, func(_, path string) error {
			return errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600))
		}, []string{"a.lock\" was not made by leaderrun: it is not a regular file"}},
		{"file is a socket", false, func(_, path string) error {
			return errors.Join(os.Remove(path), listen(path))
		}, []string{"a.lock\" was not made by leaderrun"}},
		{"file is writable by its group", false, func(_, path string) error {
			return os.Chmod(path, 0o620)
		}, []string{"a.lock\" can be written by other users"}},
		{"file is another user's", true, func(_, path string) error {
			return os.Chown(path, nobody, 0)
		}, []string{"a.lock\" belongs to another user (uid 65534)"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			needs(t, !tt.root || os.Geteuid() == 0, "root")
			dir := filepath.Join(shortDir(t), "locks")
			refusesSpoiled(t, dir, tt.spoil, tt.words)
		})
	}
}

// relink moves a directory, and puts a link to it in its place.
func relink(dir string) error {
	return errors.Join(os.Rename(dir, dir+".real"), os.Symlink(dir+".real", dir))
}

// shortDir returns a directory whose path is short enough for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "lr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func listen(path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Close(fd))
}

// tree lists what is below a directory, with the sizes of files.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			fmt.Fprintln(&b, path, info.Mode(), info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWrongPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, words := range map[string][]string{
		dir + "/absent/locks":                {dir + "/absent", "does not exist"},
		dir + "/f":                           {dir + "/f", "not a directory"},
		dir + "/f/locks":                     {dir + "/f", "not a directory"},
		dir + "/" + strings.Repeat("x", 300): {"name too long"},
	} {
		_, err := open(t, path).Acquire(t.Context(), true)
		refusal(t, err, locks.ErrUsage, words...)
	}
}

// TestParents checks that all parents of the default directory are made.
func TestParents(t *testing.T) {
	t.Parallel()
	l := newLocker(place{dir: filepath.Join(t.TempDir(), "a", "b", "locks"), parents: true}, locks.Options{Name: "a"})
	hold(t, l)
	release(t, l)
	_ = l.Close()
}

// TestDeniedAsNobody runs as a user who is not root, because root can write everything.
func TestDeniedAsNobody(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]os.FileMode{"no entry": 0o700, "no writing": 0o755} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := shortDir(t)
			dir := filepath.Join(top, "locks")
			if err := errors.Join(os.Chmod(top, 0o755), os.Mkdir(dir, mode), os.Chmod(dir, mode)); err != nil {
				t.Fatal(err)
			}
			cmd := inRole(t, "acquire", dir)
			switch {
			case os.Geteuid() == 0:
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
				cmd.Dir = "/"
			default:
				if err := os.Chmod(dir, 0o500); err != nil {
					t.Fatal(err)
				}
			}
			printed(t, output(t, cmd), locks.ErrDenied, dir, "permission denied")
		})
	}
}

func TestNoFileLeft(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	printed(t, output(t, inRole(t, "files", dir)), locks.ErrUnavailable, dir, "too many open files", "ulimit")
}

// printed checks what a process in the role "acquire" has printed.
func printed(t *testing.T, out string, class error, words ...string) {
	t.Helper()
	for _, w := range append(words, "class: "+class.Error()) {
		if !strings.Contains(out, w) {
			t.Errorf("%q does not mention %q", out, w)
		}
	}
	if strings.Contains(out, "hint: \n") {
		t.Errorf("%q has no hint", out)
	}
}

// refusesSpoiled spoils the directory of a lock, or its file. Then nobody can have the lock,
// and the attempt changes nothing.
func refusesSpoiled(t *testing.T, dir string, spoil func(dir, path string) error, words []string) {
	t.Helper()
	l := open(t, dir)
	pass(t, dir)
	if err := spoil(dir, l.path); err != nil {
		t.Fatal(err)
	}
	before := tree(t, filepath.Dir(dir))
	_, err := l.Acquire(t.Context(), true)
	if !strings.Contains(words[0], "not made by leaderrun") {
		refusal(t, err, locks.ErrDenied, words...)
	} else if !errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), words[0]) {
		t.Errorf("got %v; want ErrUsage with %s", err, words[0])
	}
	if after := tree(t, filepath.Dir(dir)); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}
