package guard

import "golang.org/x/sys/unix"

// receiveFlags keep a process that is started meanwhile from inheriting a received file.
const receiveFlags = unix.MSG_CMSG_CLOEXEC

// self returns the path of this program, which works even if its file was replaced since.
func self() (string, error) { return "/proc/self/exe", nil }

// awaitEnd returns when a child has ended. It does not reap the child.
func awaitEnd(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}
