package terminal

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/runner/signals"
)

// Suspend suspends us as the job was suspended, and unless alone our group, and returns true
// when we are continued. It returns false if we were not suspended, because nobody could
// continue us: in an orphaned group, the signals of a terminal suspend nobody. Nor could
// anybody help a job that wants the terminal in the background of a script.
//
// The kernel has that rule. So Suspend really sends the signal, with its default action,
// and to the whole group at once: if the others were suspended first, they might be
// continued before we are suspended, and nobody would continue us.
//
// When Suspend returns, package signals has delivered what we have caught before we were
// continued, because signals.Stop waits for that.
func (t *Terminal) Suspend(sig os.Signal, alone bool) (was bool) {
	if wants := sig == unix.SIGTTIN || sig == unix.SIGTTOU; wants && t.behind && t.foreground() == t.own {
		return false // the script goes on, and fg would not help
	}
	s, whom := sig.(syscall.Signal), 0
	if alone {
		whom = unix.Getpid()
	}
	limit := time.Second
	switch s {
	case unix.SIGTSTP: // if it arrives later, it is passed on and suspends the job again
		limit = 100 * time.Millisecond
	case unix.SIGSTOP:
		s = unix.SIGTSTP
	}
	continued := make(chan os.Signal, 1)
	signals.Notify(continued, unix.SIGCONT)
	defer signals.Stop(continued)
	signals.ByDefault(s, func() {
		_ = unix.Kill(whom, s)
		was = wasContinued(continued, limit)
	})
	return was
}

// slice is how long wasContinued sleeps at most.
const slice = 10 * time.Millisecond

// wasContinued waits until we are continued, and returns false if we have run for so long that
// we were not suspended. Only time in which we run counts: all timers that are due when we are
// continued fire at once, before the signal that has continued us is delivered. A sleep that took
// far too long says nothing, and everything begins again.
func wasContinued(continued <-chan os.Signal, limit time.Duration) bool {
	for left := limit; left > 0; {
		start := time.Now()
		select {
		case <-continued:
			return true
		case <-time.After(slice):
		}
		took := time.Since(start)
		if left -= took; took > limit/2 {
			left = limit
		}
	}
	return false
}
