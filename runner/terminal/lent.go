package terminal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Lent is the terminal that leaderrun may have given to its job, as the guard has it. If
// leaderrun was killed, nobody else takes the terminal back: an interactive shell would, but a
// script goes on in leaderrun's group, where each read would fail.
type Lent struct {
	terminal Terminal
}

// LentBy returns our controlling terminal, which the group of a process may give to a job, or
// nil if we have none or cannot see that process. The terminal stays open: to open it could
// block, when there is a job to kill.
func LentBy(leaderrun int) *Lent {
	if leaderrun == 0 { // it is in another pid namespace
		return nil
	}
	group, err := unix.Getpgid(leaderrun)
	if err != nil {
		return nil
	}
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return &Lent{Terminal{file: os.NewFile(uintptr(fd), "/dev/tty"), own: group}}
}

// Return makes leaderrun's group the foreground group again if the job's is, or one that has
// no process, such as that of a pipeline in a job that was a shell.
func (l *Lent) Return(job int) {
	if l == nil {
		return
	}
	group := l.terminal.foreground()
	if group > 1 && (group == job || errors.Is(unix.Kill(-group, 0), unix.ESRCH)) {
		l.terminal.setForeground(l.terminal.own)
	}
}
