package file

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"

	"github.com/leaderrun/leaderrun/locks"
)

// lockedByte returns the byte to lock, at 2^62 bytes. A lock on Windows keeps others from
// reading what it covers, so it must not cover any content.
func lockedByte() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }

// tryLock locks f unless it is locked, or carried on after its holder's death.
func tryLock(f *os.File) (bool, error) {
	ok, err := tryHolder(f)
	if !ok {
		return false, err
	}
	ok, err = isFree(locks.AwaitCarrier(f, true))
	if !ok {
		_ = unlock(f)
	}
	return ok, err
}

// tryHolder takes the holder's lock on f, even if the lock is still carried on.
func tryHolder(f *os.File) (bool, error) {
	return isFree(lockFile(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY))
}

func isFree(err error) (bool, error) {
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// tryShared takes a shared lock on f unless another process has an exclusive one, or the
// lock is carried on after its holder's death.
func tryShared(f *os.File) (bool, error) {
	ok, err := isFree(lockFile(f, windows.LOCKFILE_FAIL_IMMEDIATELY))
	if !ok {
		return false, err
	}
	ok, err = isFree(locks.AwaitCarrier(f, true))
	if !ok {
		_ = unlock(f)
	}
	return ok, err
}

// waitLock waits until it has locked f.
func waitLock(f *os.File) error {
	if err := lockFile(f, windows.LOCKFILE_EXCLUSIVE_LOCK); err != nil {
		return err
	}
	return locks.AwaitCarrier(f, false)
}

// unlock unlocks f.
func unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte())
}

func lockFile(f *os.File, flags uint32) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, lockedByte())
}
