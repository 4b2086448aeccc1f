package file

import "golang.org/x/sys/unix"

// bootID returns the random number that the kernel drew when it started.
func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
