package runner

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/health"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A task is a command and what it is run under: the job, or a hook. It does not change
// once it runs.
type task struct {
	c       *Config
	report  reporter
	bound   bound
	command proc.Command
	isJob   bool
	longest time.Duration   // how long it may run; 0: for ever
	closing *sync.WaitGroup // of starters that have done their work

	heartbeat func(heartbeat.Stage) time.Duration // may be nil
	stage     heartbeat.Stage                     // which heartbeat is called with
	signals   <-chan os.Signal                    // what is passed on to it
	detached  bool                                // it has no terminal that could hang up
	requests  <-chan []byte                       // to resign
	resignFor func(request []byte) error          // returns why the task must end for a request, or nil
	quit      <-chan struct{}                     // closed when it is to end
	health    func(proc.Job) *health.Watch        // looks after it; may be nil
	tty       Terminal                            // shared with it; or nil
}

// run runs the task, and returns when nothing of it is left, or none that could be
// killed. The guard may have died while the lock was waited for; then there is another
// one.
func (k *task) run() outcome {
	o := k.runUnderGuard()
	if errors.Is(o.err, proc.ErrGuardDied) {
		k.report.log.Warn("starting another guard", "err", o.err)
		o = k.runUnderGuard()
	}
	if k.tty != nil {
		if o.began == 0 { // a start that has failed may have changed the terminal
			k.tty.Take(true)
		}
		k.tty.Close()
	}
	return o
}

func (k *task) runUnderGuard() outcome {
	starter, job, err := k.start()
	if err != nil {
		return outcome{err: k.bound.tellLost(err)}
	}
	s := newSupervisor(k, job)
	s.supervise()
	if !s.unkillable {
		k.closing.Go(starter.Close) // it takes a moment, and somebody may wait for the lock
	}
	return s.outcome()
}

// start begins to start the command, if there is still time to stop it again.
func (k *task) start() (proc.Starter, proc.Job, error) {
	if err := k.bound.lost(); err != nil {
		return nil, nil, err
	}
	e := k.bound.expiry()
	if now := k.c.Clock.Now(); now >= k.c.Timing.SignalAt(e) {
		return nil, nil, fmt.Errorf("%w: only %s of the lease were left before the start", locks.ErrLost, e.Sub(now).Round(time.Millisecond))
	}
	starter, err := k.c.Starter()
	if err != nil {
		return nil, nil, err
	}
	job, err := starter.Start(k.command, k.c.Timing.KillAt(e))
	if errors.Is(err, proc.ErrUnguarded) {
		err = fmt.Errorf("%w: %w", locks.ErrLost, err)
	}
	if err != nil {
		starter.Close()
		return nil, nil, err
	}
	k.bound.attach(job)
	return starter, job, nil
}

// ends reports whether a signal that we were sent is to end the task. HUP is if a
// terminal hangs up; without a terminal it is what daemons reload on.
func ends(sig os.Signal, detached bool) bool { return ending(sig) && !(detached && hangup(sig)) }
