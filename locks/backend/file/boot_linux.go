package file

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// bootID returns the random number that the kernel drew when it started. It uses a plain
// read, because os.ReadFile would set up the poller.
func bootID() string {
	fd, err := unix.Open("/proc/sys/kernel/random/boot_id", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer func() { _ = unix.Close(fd) }() // only read
	b := make([]byte, 64)
	n, err := unix.Read(fd, b)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b[:n]))
}
