// Package isolate is for the programs that leaderrun runs next to a job, and that end when
// their input does: helpers and leaderrun-monitor.
package isolate

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Process shields this process from what is meant for the job: open files, and signals
// from a terminal or a service manager, about which the core decides. It also ignores
// SIGPIPE: a write to a dead core must not end a helper, because a release may still be
// requested.
func Process() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP,
		syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGPIPE)
	closeInherited()
}

// closeInherited closes the files that leaderrun's caller left open for the job (flock's
// "9>file"). Files that this process has opened have the close-on-exec flag; inherited
// ones cannot have it.
func closeInherited() {
	names, err := os.ReadDir("/dev/fd")
	if err != nil {
		return // without /proc they stay open until the helper ends
	}
	for _, n := range names {
		fd, err := strconv.Atoi(n.Name())
		if err != nil || fd <= 2 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
}
