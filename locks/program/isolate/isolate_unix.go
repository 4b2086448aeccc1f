//go:build unix

// Package isolate is for the programs that leaderrun starts beside a job, and that
// end with their input: helpers and leaderrun-metrics.
package isolate

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Process shields this process from what is meant for the job: the signals of a
// terminal or a service manager, upon which the core decides, and open files.
// A write to a core that is gone must not end the helper either, as a release
// may still be asked for: SIGPIPE.
func Process() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP,
		syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGPIPE)
	closeInherited()
}

// closeInherited closes the files that whoever started leaderrun left open
// for the job (flock's "9>file"). What this process opened itself has the
// close-on-exec flag, and what it inherited cannot have it.
func closeInherited() {
	names, err := os.ReadDir("/dev/fd")
	if err != nil {
		return // no such directory: then they stay open until the helper ends
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
