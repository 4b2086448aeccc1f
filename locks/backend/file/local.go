package file

import (
	"os"

	"github.com/leaderrun/leaderrun/locks"
)

// A fileSystem is what is known about a type of file system.
type fileSystem struct {
	name  string // "ext4"; the number of an unknown type
	reach reach
}

// A reach says whether other machines may see a file system.
type reach int

const (
	unknown reach = iota // depends on its use, or the type is unknown
	local                // they cannot see it
	shared               // made for several machines
)

// lost says when the content of the file system is lost, or returns "" if it is not.
func (fs fileSystem) lost() string {
	switch fs.name {
	case "tmpfs", "ramfs":
		return "at a reboot"
	case "overlay":
		return "with the container, if this is one's own file system"
	}
	return ""
}

// checkLocal refuses a directory or a file on a file system that is not known to be
// local, unless the user overrides that. If several machines see it, flock(2) may be
// local to each client, and the page cache is not reliable.
//
// The lock file is checked as well as its directory, because another file may be mounted
// on top.
func (l *Locker) checkLocal(f *os.File) error {
	fs, err := l.fileSystem(f)
	switch {
	case err != nil:
		return err
	case fs.reach == local, fs.reach == unknown && l.place.anyFS:
		return nil
	case fs.reach == unknown:
		return fault(locks.ErrUsage,
			localDir+"; if no other machine can see this one, write -b '"+l.place.String()+"?fs=any'",
			"%q is on a file system of the type %s, which is not known to be local to this machine", f.Name(), fs.name)
	}
	despite := ""
	if l.place.anyFS {
		despite = ", fs=any or not"
	}
	return fault(locks.ErrUsage, localDir,
		"%q is on a file system of the type %s, where file locks cannot be relied upon%s", f.Name(), fs.name, despite)
}

// openLock opens the lock file in dir, or makes it if it is absent.
func (l *Locker) openLock(dir *os.File) (*os.File, error) {
	return l.openLocal(dir, l.path, os.O_RDWR|os.O_CREATE)
}

// openLocal opens a file in dir, and refuses it if checkLocal does.
func (l *Locker) openLocal(dir *os.File, path string, flags int) (*os.File, error) {
	f, err := openIn(dir, path, flags)
	if isIrregular(err) {
		err = foreign(path, errIrregular)
	}
	if err != nil {
		return nil, err
	}
	if err := l.checkLocal(f); err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

const localDir = "name a directory on a local disk with -b file:///dir, or use a backend for several machines"

// bootOf identifies this boot of the system for the lock file f. It returns "" if the
// boot is unknown, or if f may lose data within one boot, together with the server or
// process that keeps it.
func (l *Locker) bootOf(f *os.File) string {
	if l.place.anyFS { // otherwise checkLocal has accepted only local ones
		if fs, err := l.fileSystem(f); err != nil || fs.reach != local {
			return ""
		}
	}
	return l.boot()
}
