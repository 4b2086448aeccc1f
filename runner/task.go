package runner

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/health"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/signals"
)

// The pause before another start on a machine that is out of tasks grows from shortestRoom to
// longestRoom. A random part of it, up to half, is left out.
const (
	shortestRoom = 50 * time.Millisecond
	longestRoom  = time.Second
)

// A task is the job or a hook: a command, and the lease that it runs under. It does not
// change while it runs.
type task struct {
	r       *run
	report  reporter
	lease   *lease
	command proc.Command
	isJob   bool
	longest time.Duration   // how long it may run; 0: for ever
	closing *sync.WaitGroup // waits for starters to be closed
	starter func() (proc.Starter, error)

	heartbeat func(heartbeat.Stage) time.Duration // may be nil
	stage     heartbeat.Stage                     // of the heartbeat
	signals   <-chan os.Signal                    // to pass on to the task
	detached  bool                                // the task has no terminal that could hang up
	requests  <-chan []byte                       // to resign
	resignFor func(request []byte) error          // returns why the task must end, or nil
	quit      <-chan struct{}                     // closed when the task must end
	// room waits before another start if the machine is out of tasks. It returns false if
	// there is no time for one, and an error if the term must end. It may be nil: no start is
	// repeated.
	room func(pause time.Duration) (again bool, err error)
	// draining is called when the task takes its time to stop. It does not wait. It may be nil.
	draining func(since, killBy clock.Instant)
	health   func(proc.Job) *health.Watch // starts the health checks; may be nil
	tty      Terminal                     // shared with the task; or nil
}

// run runs the task. It returns when nothing of the task is left, except what cannot be
// killed. The guard may have died during the campaign: then run starts another one.
func (k *task) run() outcome {
	o := k.runUnderGuard()
	if errors.Is(o.err, proc.ErrGuardDied) && !o.class().out {
		k.report.log.Warn("starting another guard", "err", o.err)
		o = k.runUnderGuard()
	}
	for pauses := (backoff.Backoff{Shortest: shortestRoom, Longest: longestRoom}); o.class().out && k.room != nil; {
		k.report.log.Debug("not started yet", "err", o.err)
		again, err := k.room(pauses.Take())
		if err != nil {
			o = outcome{err: err}
		}
		if err != nil || !again {
			break
		}
		o = k.runUnderGuard()
	}
	if k.tty != nil {
		if o.began == 0 { // a start that failed may have changed the terminal
			k.tty.Take(true)
		}
		k.tty.Close()
	}
	return o
}

func (k *task) runUnderGuard() outcome {
	starter, job, err := k.start()
	if err != nil {
		return outcome{err: k.lease.reportLoss(err)}
	}
	s := newSupervisor(k, job)
	s.supervise()
	if !s.unkillable {
		k.closing.Go(starter.Close) // it takes a moment, and somebody may wait for the lock
	}
	return s.outcome()
}

// start has the command started, if there is still time to stop it again.
func (k *task) start() (proc.Starter, proc.Job, error) {
	if err := k.lease.lost(); err != nil {
		return nil, nil, err
	}
	e := k.lease.expiry()
	if now := k.r.Clock.Now(); now >= k.lease.timing.SignalAt(e) {
		return nil, nil, fmt.Errorf("%w: only %s of the lease were left before the start", locks.ErrLost, e.Sub(now).Round(time.Millisecond))
	}
	starter, err := k.starter()
	if err != nil {
		return nil, nil, err
	}
	job, err := starter.Start(k.command, k.lease.timing.KillAt(e))
	if errors.Is(err, proc.ErrUnguarded) {
		err = fmt.Errorf("%w: %w", locks.ErrLost, err)
	}
	if err != nil {
		starter.Close()
		return nil, nil, err
	}
	k.lease.attach(job)
	return starter, job, nil
}

// ends reports whether a signal that we receive must end the task. HUP ends it if its
// terminal hangs up. Without a terminal, HUP asks a daemon to reload its configuration.
func ends(sig os.Signal, detached bool) bool {
	return signals.Ending(sig) && !(detached && sig == syscall.SIGHUP)
}
