package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/program/trust"
)

// openDir opens the directory of the locks, or makes it if it is absent. It trusts no
// other user, and follows no symbolic link that another user could have made or could
// change.
func openDir(p place) (*os.File, error) {
	f, err := findDir(p)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeDir(p); err != nil {
			return nil, err
		}
		f, err = findDir(p)
	}
	return f, err
}

// findDir opens the directory of the locks if it exists.
func findDir(p place) (*os.File, error) {
	f, err := peekDir(p.dir)
	if err != nil {
		return nil, err
	}
	return trusted(f, fs.ModeDir)
}

// peekDir opens a directory even if it is not trusted.
func peekDir(path string) (*os.File, error) {
	f, err := openAt(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == nil || !isLink(path) {
		return f, err
	}
	to, err := trust.Dir(path)
	if err != nil { // an absent target must not look as if the directory could be made
		return nil, fault(locks.ErrDenied, "write the path that it leads to, or "+ownDir, "%q is a symbolic link that is not followed: %v", path, err)
	}
	return openAt(unix.AT_FDCWD, to, unix.O_RDONLY|unix.O_DIRECTORY)
}

func trustDir(dir *os.File) error { return checkOwner(dir, fs.ModeDir) }

// ownership says for whom the locks of a directory are.
func ownership(dir *os.File) string {
	info, err := dir.Stat()
	if err != nil {
		return ""
	}
	if isShared(info) {
		return fmt.Sprintf("the group %d shares its locks: every member can hold each of them, and must be trusted", gidOf(info))
	}
	return fmt.Sprintf("its locks are those of uid %d on this machine, and of nobody else (mode %#o)", uidOf(info), info.Mode().Perm())
}

func makeDir(p place) error {
	parent := filepath.Dir(p.dir)
	if p.parents {
		if err := os.MkdirAll(parent, 0o700); err != nil {
			return err
		}
	}
	err := os.Mkdir(p.dir, 0o700)
	switch {
	case errors.Is(err, fs.ErrExist): // another process was faster
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return noParent(parent)
	}
	return err
}

// openIn opens the file in dir that is at path. It does not block, as opening a pipe
// would.
func openIn(dir *os.File, path string, flags int) (*os.File, error) {
	info, err := dir.Stat()
	if err != nil {
		return nil, err
	}
	if isShared(info) {
		return openShared(dir, path, flags, gidOf(info))
	}
	f, err := openAt(int(dir.Fd()), path, flags|unix.O_NONBLOCK)
	if err != nil {
		return nil, explain(path, err)
	}
	return trusted(f, 0)
}

// renameIn renames a file in dir. It replaces a file with the new name, and follows no
// link.
func renameIn(dir *os.File, from, to string) error {
	err := unix.Renameat(int(dir.Fd()), filepath.Base(from), int(dir.Fd()), filepath.Base(to))
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// removeIn removes a file in dir.
func removeIn(dir *os.File, path string) error {
	return unix.Unlinkat(int(dir.Fd()), filepath.Base(path), 0)
}

// openAt opens path itself, never the target of a symbolic link in its place. With a dir,
// it uses only the last element of path, within dir.
func openAt(dir int, path string, flags int) (*os.File, error) {
	name := path
	if dir != unix.AT_FDCWD {
		name = filepath.Base(path)
	}
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NOCTTY, 0o600)
		switch {
		case err == nil:
			if flags&unix.O_NONBLOCK != 0 {
				_ = unix.SetNonblock(fd, false) // otherwise package os sets up the poller, which a file does not need
			}
			return os.NewFile(uintptr(fd), path), nil
		case !errors.Is(err, unix.EINTR):
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// explain returns why path could not be opened. Systems report a symbolic link in many
// ways.
func explain(path string, err error) error {
	if isLink(path) {
		return fault(locks.ErrDenied, "write the path that the link leads to; leaderrun does not follow it there", "%q is a symbolic link", path)
	}
	return err
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// trusted returns f if it has the given type and nobody except us and root can change it.
// Otherwise it closes f.
func trusted(f *os.File, want fs.FileMode) (*os.File, error) {
	err := checkOwner(f, want)
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

func checkOwner(f *os.File, want fs.FileMode) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	owner := uidOf(info)
	switch {
	case info.Mode().Type() != want:
		return foreign(f.Name(), errIrregular)
	case owner != 0 && int(owner) != os.Geteuid():
		return fault(locks.ErrDenied, ownDir, "%q belongs to another user (uid %d)", f.Name(), owner)
	case isShared(info):
		return nil
	case mayBeShared(info):
		return fault(locks.ErrDenied, "run chmod g-w; or, if its group is to share the locks, chmod +t, so that nobody can replace another's lock file",
			"%q can be written by other users", f.Name())
	case info.Mode().Perm()&0o022 != 0:
		return fault(locks.ErrDenied, "run chmod go-w, or "+ownDir, "%q can be written by other users", f.Name())
	}
	return nil
}

func uidOf(info fs.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Uid }
func gidOf(info fs.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Gid }

// syncDir makes the entries of a directory durable, on systems where it can.
func syncDir(dir *os.File) error {
	err := dir.Sync()
	if errors.Is(err, unix.EINVAL) {
		return nil
	}
	return err
}
