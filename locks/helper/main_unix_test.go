//go:build unix

package helper

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// alive reports whether anything of a process group is left.
func alive(group int) bool { return !errors.Is(unix.Kill(-group, 0), unix.ESRCH) }

func stopMyself() { _ = unix.Kill(unix.Getpid(), unix.SIGSTOP) }

// inherited returns the open files that would survive an exec, except for the first
// three.
func inherited() (fds []int) {
	names, err := os.ReadDir("/dev/fd")
	if err != nil {
		panic(err)
	}
	for _, n := range names {
		fd, _ := strconv.Atoi(n.Name())
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); fd > 2 && err == nil && flags&unix.FD_CLOEXEC == 0 {
			fds = append(fds, fd)
		}
	}
	return fds
}

// detach makes a command start in its own session, and so in its own process group.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
