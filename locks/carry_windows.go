package locks

import (
	"os"

	"golang.org/x/sys/windows"
)

// Windows keeps a file lock for the process that took it, and frees it when that process
// dies, even if others have the file open. So we use two locks: the holder has one, and
// the process that the holder gave its file to has the other, here. A contender that gets
// the first must also wait for the second.

// Carry keeps a lock held whose [Carrier] its holder gave us, until we close the file or
// die. Call it while the holder lives. It fails if somebody else already has the lock.
func Carry(f *os.File) error {
	return lockCarrier(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
}

// AwaitCarrier is for a backend whose locks are files. The backend calls it once it has
// the holder's lock. It blocks until nobody carries the lock. With try, it fails at once
// instead, with ERROR_LOCK_VIOLATION.
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

// carrierByte is a byte beyond the end of any file, because a locked byte cannot be read.
func carrierByte() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30, Offset: 1} }
