//go:build !linux

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

// Undisturbed does nothing here: in the background, a write to a terminal with the mode
// tostop suspends us.
func Undisturbed() {}

// withoutTTOU calls f while SIGTTOU, which would suspend us, is ignored. Blocking it in one
// thread is not possible here. No process is started meanwhile.
func withoutTTOU(f func() error) error {
	signal.Ignore(unix.SIGTTOU)
	defer signal.Reset(unix.SIGTTOU)
	return f()
}

// ignoresINT returns true: we do not look.
func ignoresINT(int) bool { return true }

// othersSuspended returns true: we do not look.
func othersSuspended(int) bool { return true }

// Suspend suspends us, and unless alone our group, and returns true when we are continued. It returns false if our
// parent is in another session, because then nobody could continue us.
func (t *Terminal) Suspend(_ os.Signal, alone bool) bool {
	own, err := unix.Getsid(0)
	parents, _ := unix.Getsid(unix.Getppid())
	if err != nil || own != parents {
		return false
	}
	whom := 0
	if alone {
		whom = unix.Getpid()
	}
	return unix.Kill(whom, unix.SIGSTOP) == nil
}
