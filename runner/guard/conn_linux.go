package guard

import "golang.org/x/sys/unix"

// receiveFlags keep a file that comes from a process that is started just then.
const receiveFlags = unix.MSG_CMSG_CLOEXEC

// self is this very program, even if its file was replaced since it was started.
func self() (string, error) { return "/proc/self/exe", nil }

// awaitEnd returns when a child has ended, and does not reap it.
func awaitEnd(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}
