package file

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/leaderrun/leaderrun/locks"
)

// Parts of hints for several cases.
const (
	elsewhere = "name another directory with -b file:///dir"
	ownDir    = "name a directory of your own with -b file:///dir"
)

// fault returns an error with its class and a hint. [Locker.fail] adds the rest.
func fault(class error, hint, format string, args ...any) error {
	return &locks.Error{Class: class, Err: fmt.Errorf(format, args...), Hint: hint}
}

// foreign returns the error that a file is not ours, and why we think so.
func foreign(path string, why error) error {
	return &locks.Error{Class: locks.ErrUsage, Err: locks.Foreign(fmt.Sprintf("the file %q", path), why, "directory with -b file:///dir")}
}

// errIrregular is why something cannot be a file of ours.
var errIrregular = errors.New("is not a regular file")

// noParent returns the error that the directory in which ours would be made does not
// exist.
func noParent(parent string) error {
	return fault(locks.ErrUsage, "make it first: leaderrun makes only the last element of a path", "directory %q does not exist", parent)
}

// fail returns the error that leaves the backend.
func (l *Locker) fail(op string, err error) error {
	var e *locks.Error
	if !errors.As(err, &e) {
		hint, class := classify(err)
		e = &locks.Error{Class: class, Err: err, Hint: hint}
	}
	e.Op, e.Backend, e.Name = op, l.place.String(), l.o.Name
	return e
}

// classify returns a hint for an error of the system, and its class.
func classify(err error) (hint string, class error) {
	switch {
	case errors.Is(err, locks.ErrHeld):
		return "", locks.ErrHeld
	case errors.Is(err, locks.ErrLost):
		return "nothing may delete, rename or replace a lock file, held or not", locks.ErrLost
	case errors.Is(err, fs.ErrPermission): // EACCES, EPERM
		return "make it writable for this user, or " + elsewhere, locks.ErrDenied
	case isAny(err, syscall.ENOSPC, syscall.EDQUOT):
		return "free some space there, or " + elsewhere, locks.ErrUnavailable
	case errors.Is(err, syscall.EROFS):
		return elsewhere + ", on a file system that is writable", locks.ErrDenied
	case errors.Is(err, syscall.EFBIG):
		return "raise the limit of file sizes for this process (ulimit -f)", locks.ErrDenied
	case errors.Is(err, syscall.EIO):
		return "the disk may be failing: see the kernel's log", locks.ErrUnavailable
	case errors.Is(err, syscall.EMFILE):
		return "raise the limit of open files for this process (ulimit -n)", locks.ErrUnavailable
	case errors.Is(err, syscall.ENFILE):
		return "the system's limit of open files is reached", locks.ErrUnavailable
	case isAny(err, syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.ELOOP):
		return elsewhere, locks.ErrUsage
	}
	return "", nil
}

func isAny(err error, targets ...syscall.Errno) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

// isAbsent reports whether the error means that there is nothing at a path.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// isIrregular reports whether the error means that the opened thing cannot be read or
// written like a file. ENXIO is the error for a socket.
func isIrregular(err error) bool { return isAny(err, syscall.EISDIR, syscall.ENXIO) }

// isDistrusted reports whether the error means that we refused to trust something, as
// opposed to a failure of the system.
func isDistrusted(err error) bool {
	_, ours := errors.AsType[*locks.Error](err)
	return ours
}
