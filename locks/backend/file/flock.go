package file

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks f unless it is locked.
func tryLock(f *os.File) (bool, error) {
	err := flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// tryShared takes a shared lock on f unless another process has an exclusive one.
func tryShared(f *os.File) (bool, error) {
	err := flock(f, unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// waitLock waits until it has locked f.
func waitLock(f *os.File) error { return flock(f, unix.LOCK_EX) }

// unlock unlocks f, also for other processes that share the open file.
func unlock(f *os.File) error { return flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EINTR):
			return &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
	}
}
