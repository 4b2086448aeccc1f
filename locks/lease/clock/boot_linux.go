package clock

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// BootID returns the random number that the kernel drew when it started.
func BootID() string { return read("/proc/sys/kernel/random/boot_id") }

// read returns what a small file has, or "". It uses a plain read, because os.ReadFile would set
// up the poller.
func read(path string) string {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer func() { _ = unix.Close(fd) }() // only read
	b := make([]byte, 256)
	n, err := unix.Read(fd, b)
	if err != nil {
		return ""
	}
	return string(bytes.Join(bytes.Fields(b[:n]), []byte(" ")))
}

// Epoch names what an [Instant] counts from: the boot, and the offsets of the time namespace.
// Processes with the same Epoch can compare their instants. "" if it is unknown. A kernel without
// time namespaces (before Linux 5.6) has no offsets.
func Epoch() string {
	boot, offsets := BootID(), read("/proc/self/timens_offsets")
	if boot == "" || offsets == "" && exists("/proc/self/ns/time") {
		return ""
	}
	return boot + " " + offsets
}

func exists(path string) bool {
	var s unix.Stat_t
	return unix.Lstat(path, &s) == nil
}
