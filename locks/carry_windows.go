package locks

import (
	"os"

	"golang.org/x/sys/windows"
)

// Windows keeps a lock on a file for the process that took it and frees it when
// that dies, whoever else has the file open. So there are two: the holder's, and
// that of whom the holder gave its file to, here. A contender that has got the
// first waits for the second before the lock is its own.

// Carry has us keep a lock held whose [Carrier] we were given by its holder,
// until we close the file or die. It is to be called while the holder lives, and
// fails if the lock is somebody else's already.
func Carry(f *os.File) error {
	return lockCarrier(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
}

// AwaitCarrier is for a backend whose locks are files, and called when the
// holder's lock is had: it blocks until nobody carries it on. With try, it fails
// at once instead, with ERROR_LOCK_VIOLATION.
func AwaitCarrier(f *os.File, try bool) error {
	flags := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK)
	if try {
		flags |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	if err := lockCarrier(f, flags); err != nil {
		return err
	}
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, carrierByte())
}

func lockCarrier(f *os.File, flags uint32) error {
	return os.NewSyscallError("LockFileEx", windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, carrierByte()))
}

// carrierByte is a byte that no file has: what is locked here cannot be read.
func carrierByte() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30, Offset: 1} }
