package clock

import "golang.org/x/sys/unix"

// BootID returns the random number that the kernel drew when it started.
func BootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}

// Epoch names what an [Instant] counts from. Processes with the same Epoch can compare their
// instants. "" if it is unknown.
func Epoch() string { return BootID() }
