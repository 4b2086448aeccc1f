package pgtest

import (
	"fmt"
	"syscall"
)

// mount makes a small disk of a directory.
func mount(dir string, size int) error {
	return syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=777", size))
}

// unmount takes it away, also while somebody has files there.
func unmount(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }
