package terminal

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/runner/signals"
)

// Suspend stops us as the job was stopped, and with us those with whom we share
// our group, and returns when we are continued. It reports false if we were not
// stopped: in a group that nobody could continue (an orphaned one), the signals
// of a terminal stop nobody.
//
// That rule is the kernel's, and so the signal is really sent, with its default
// action, and to all of the group at one moment: if the others were stopped
// first, they might be continued before we have stopped, and we for ever.
func (t *Terminal) Suspend(sig os.Signal) (was bool) {
	s := sig.(syscall.Signal)
	limit := time.Second
	switch s {
	case unix.SIGTSTP: // if it comes later, it is passed on, and the job stopped again
		limit = 100 * time.Millisecond
	case unix.SIGSTOP:
		s = unix.SIGTSTP
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	defer signal.Stop(continued)
	signals.ByDefault(s, func() {
		_ = unix.Kill(0, s)
		select {
		case <-continued:
			was = true
		case <-time.After(limit):
		}
	})
	return was
}
