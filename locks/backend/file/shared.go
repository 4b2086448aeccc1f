package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks"
)

// A group shares the locks of a directory that belongs to root, that the group can write,
// and that has the sticky bit. Without that bit every member could replace a lock file, also
// by accident, and then two could hold the lock. With it only root and the member that made
// a file can.
//
// We write only files that every member can write anyway: those of the directory's group
// with the mode 0660. Otherwise a member could make root write another file, by a hard link
// to it, or by moving it there. The owner of a file does not matter.
//
// In a sticky directory no member can rename a file over that of another. So there are no
// records and no requests here.

// sharedMode is the mode of a lock file in a shared directory.
const sharedMode fs.FileMode = 0o660

// isShared reports whether a group shares the locks of a directory.
func isShared(dir fs.FileInfo) bool { return mayBeShared(dir) && dir.Mode()&fs.ModeSticky != 0 }

// mayBeShared reports whether a directory lacks at most the sticky bit.
func mayBeShared(dir fs.FileInfo) bool {
	return dir.IsDir() && uidOf(dir) == 0 && dir.Mode().Perm()&0o022 == 0o020
}

// inShared reports whether a group shares the locks of a place. If that is unknown, using
// the place will report why.
func inShared(p place) bool {
	dir, err := peekDir(p.dir)
	if err != nil {
		return false
	}
	defer func() { _ = dir.Close() }() // only read
	info, err := dir.Stat()
	return err == nil && isShared(info)
}

// openShared opens the file in a shared directory of a group that is at path, or makes it if
// it is absent and flags say so. If it comes and goes meanwhile, the error is that it is
// absent.
//
// A file that exists is never opened with O_CREAT, because Linux may deny that in a sticky
// directory, see fs.protected_regular in proc(5).
func openShared(dir *os.File, path string, flags int, gid uint32) (*os.File, error) {
	if flags&os.O_EXCL != 0 {
		return nil, fault(locks.ErrUsage, elsewhere, "%q is shared by a group, and so keeps no records and takes no requests", dir.Name())
	}
	f, err := openMember(dir, path, flags, gid)
	if flags&os.O_CREATE == 0 || !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := makeShared(dir, path, gid); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return openMember(dir, path, flags, gid)
}

// openMember opens a file that exists, if every member of the group can write it.
func openMember(dir *os.File, path string, flags int, gid uint32) (*os.File, error) {
	f, err := openAt(int(dir.Fd()), path, flags&^os.O_CREATE|unix.O_NONBLOCK)
	if err != nil {
		return nil, explain(path, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = foreign(path, errIrregular)
	case info.Mode() != sharedMode || gidOf(info) != gid:
		err = fault(locks.ErrDenied, "run chgrp and chmod",
			"%q has the group %d and the mode %#o; in a directory that the group %d shares it must have that group and the mode %#o",
			path, gidOf(info), info.Mode().Perm(), gid, sharedMode)
	default:
		return f, nil
	}
	_ = f.Close() // nothing was written
	return nil, err
}

// makeShared makes a file for a group. It makes it under another name, so that nobody finds
// it before the group can use it.
func makeShared(dir *os.File, path string, gid uint32) error {
	temp := filepath.Join(filepath.Dir(path), newName())
	f, err := openAt(int(dir.Fd()), temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()           // nothing was written
	defer func() { _ = removeIn(dir, temp) }() // at worst it stays there
	if err := share(f, gid); err != nil {
		return err
	}
	at := int(dir.Fd())
	if err := unix.Linkat(at, filepath.Base(temp), at, filepath.Base(path), 0); err != nil {
		return &os.LinkError{Op: "link", Old: temp, New: path, Err: err}
	}
	return nil
}

// share lets a group write a file of ours.
func share(f *os.File, gid uint32) error {
	info, err := f.Stat()
	if err == nil && gidOf(info) != gid {
		err = f.Chown(-1, int(gid))
	}
	if err == nil {
		err = f.Chmod(sharedMode)
	}
	return err
}
