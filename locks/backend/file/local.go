package file

import (
	"os"

	"github.com/leaderrun/leaderrun/locks"
)

// A fileSystem is what is known of the type of one.
type fileSystem struct {
	name  string // "ext4"; for a type that is not known, its number
	reach reach
}

// A reach says whether other machines may see what is on a file system.
type reach int

const (
	unknown reach = iota // it depends on how it is used, or the type is not known
	local                // they cannot
	shared               // it is made for that
)

// lost says when what is on a file system is lost, if it is.
func (fs fileSystem) lost() string {
	switch fs.name {
	case "tmpfs", "ramfs":
		return "at a reboot"
	case "overlay":
		return "with the container, if this is one's own file system"
	}
	return ""
}

// checkLocal refuses a directory or a file on a file system that is not known to
// be local, unless the user knows better. On one that several machines see, flock(2)
// may be local to each client, and a page cache is not the truth.
//
// A lock file is asked, too, and not only its directory: another file may be mounted
// over it.
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

// openLock opens the lock file in dir, and makes it if it is absent.
func (l *Locker) openLock(dir *os.File) (*os.File, error) {
	return l.openLocal(dir, l.path, os.O_RDWR|os.O_CREATE)
}

// openLocal opens a file in dir, and refuses it if checkLocal does.
func (l *Locker) openLocal(dir *os.File, path string, flags int) (*os.File, error) {
	f, err := openIn(dir, path, flags)
	if err != nil {
		return nil, err
	}
	if err := l.checkLocal(f); err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

const localDir = "name a directory on a local disk with -b file:///dir, or use a backend that is made for several machines"

// bootOf identifies this boot of the system for the lock file f; "" if it cannot
// be told, or if what is written to f may be lost within one boot, with the server
// or the process that keeps it.
func (l *Locker) bootOf(f *os.File) string {
	if l.place.anyFS { // else checkLocal has let in what is local, and nothing else
		if fs, err := l.fileSystem(f); err != nil || fs.reach != local {
			return ""
		}
	}
	return l.boot()
}
