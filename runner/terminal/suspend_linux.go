package terminal

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/runner/signals"
)

// Suspend suspends our group as the job was suspended, and returns true when we are
// continued. It returns false if we were not suspended, because nobody could continue us:
// in an orphaned group, the signals of a terminal suspend nobody.
//
// The kernel has that rule. So Suspend really sends the signal, with its default action,
// and to the whole group at once: if the others were suspended first, they might be
// continued before we are suspended, and nobody would continue us.
func (t *Terminal) Suspend(sig os.Signal) (was bool) {
	s := sig.(syscall.Signal)
	limit := time.Second
	switch s {
	case unix.SIGTSTP: // if it arrives later, it is passed on and suspends the job again
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
