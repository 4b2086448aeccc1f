//go:build unix

package helper

import (
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolate shields the helper from what is meant for the job: the signals of a
// terminal or a service manager, upon which the core decides, and open files.
// A write to a core that is gone must not end the helper either, as a release
// may still be asked for: SIGPIPE.
func isolate() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP,
		syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGPIPE)
	closeInherited()
}

// input is standard input, read through the runtime's poller. A goroutine in a
// blocking read holds a processor until the scheduler takes it away, which more
// than doubles the time of a round trip.
func input() io.Reader {
	if err := syscall.SetNonblock(0, true); err != nil {
		return os.Stdin
	}
	return os.NewFile(0, os.Stdin.Name())
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
