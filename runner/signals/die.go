package signals

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Die ends this process as a signal does that nobody catches, but without a core dump. With
// group, the rest of our process group gets the signal first. Die must be the last thing that
// the process does.
//
// It returns if an exit is better, or the signal has no effect: in the first process of a
// container, which only exits; and for HUP without a terminal, which then asks a daemon to
// reload, while service managers take a death of HUP for a success.
func Die(sig os.Signal, group bool) {
	s := sig.(syscall.Signal)
	if os.Getpid() == 1 || s == syscall.SIGHUP && !onTerminal() {
		return
	}
	dumpNoCore()
	raise(s, group)
}

// onTerminal reports whether we have a controlling terminal.
func onTerminal() bool {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err == nil
}
