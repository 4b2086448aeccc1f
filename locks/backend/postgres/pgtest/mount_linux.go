package pgtest

import (
	"fmt"
	"syscall"
)

// mount mounts a disk of size bytes on a directory.
func mount(dir string, size int) error {
	return syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=777", size))
}

// unmount removes the disk, even if somebody has open files there.
func unmount(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }
