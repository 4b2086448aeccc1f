package clock

import (
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

// BootID returns the random number that the kernel drew when it started. It uses a plain
// read, because os.ReadFile would set up the poller.
func BootID() string {
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

// Epoch names what an [Instant] counts from: the boot, and the time namespace, which has an offset
// of its own. Processes with the same Epoch can compare their instants. "" if it is unknown.
func Epoch() string {
	namespace, err := os.Readlink("/proc/self/ns/time")
	if boot := BootID(); boot != "" && err == nil {
		return boot + " " + namespace
	}
	return ""
}
