//go:build unix

package output

import "golang.org/x/sys/unix"

// isInherited reports whether a descriptor was open when we were started. Those
// that were opened since are all closed on exec.
func isInherited(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil && flags&unix.FD_CLOEXEC == 0
}
