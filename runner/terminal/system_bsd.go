//go:build unix && !linux

package terminal

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

const (
	getModes = unix.TIOCGETA
	setModes = unix.TIOCSETA
)

// Undisturbed does nothing here: a write to a terminal with the mode tostop
// stops us in the background.
func Undisturbed() {}

// unstopped calls f while SIGTTOU is ignored, or it would stop us. There is no
// mask of a thread's own to be had, and nothing is started meanwhile.
func unstopped(f func() error) error {
	signal.Ignore(unix.SIGTTOU)
	defer signal.Reset(unix.SIGTTOU)
	return f()
}

// Suspend stops our group, and returns when it is continued. It reports false
// if it did not, because nobody could continue us: our parent is in another
// session.
func (t *Terminal) Suspend(os.Signal) bool {
	own, err := unix.Getsid(0)
	parents, _ := unix.Getsid(unix.Getppid())
	if err != nil || own != parents {
		return false
	}
	return unix.Kill(0, unix.SIGSTOP) == nil
}
