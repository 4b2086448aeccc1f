package runner

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// A lease is what tasks of a term run under: it ends them in time. The zero lease never
// ends. It is for hooks that run before or after a term. A lease may be used
// concurrently.
type lease struct {
	kept   *keepalive.Lease // nil: the lease never ends
	clock  clock.Clock
	timing timing.Timing // for the TTL that was granted
	report reporter
	job    atomic.Pointer[proc.Job] // the one that runs, or nil
	done   <-chan struct{}          // closed when the lease has ended
	taken  atomic.Pointer[string]   // who says to take the lock away, and why; nil: nobody
}

func newLease(kept *keepalive.Lease, r *run, report reporter) *lease {
	fitting := r.Timing
	if granted := kept.Grant().TTL; granted > 0 {
		fitting = fitting.For(granted)
	}
	if r.Signal == syscall.Signal(0) { // nothing is sent before KILL, so there is nothing to wait for
		fitting.Grace = 0
	}
	return &lease{kept: kept, clock: r.Clock, timing: fitting, report: report, done: kept.Done()}
}

// expiry returns E as of now: until then, the lease is ours for certain. Each renewal
// moves it. If the lease never ends, E is clock.Never.
func (l *lease) expiry() clock.Instant {
	if l.kept == nil {
		return clock.Never
	}
	if e, ends := l.kept.Deadline(); ends {
		return e
	}
	return clock.Never
}

// killAt returns D_kill, and signalAt D_signal, as of now.
func (l *lease) killAt() clock.Instant   { return l.timing.KillAt(l.expiry()) }
func (l *lease) signalAt() clock.Instant { return l.timing.SignalAt(l.expiry()) }

// lost returns why the lease cannot be relied on, or nil. It also looks at the clock,
// because after a freeze the keepalive.Lease may not know yet that it has expired.
func (l *lease) lost() error {
	if l.kept == nil {
		return nil
	}
	if err := l.kept.Err(); err != nil {
		return l.explained(err)
	}
	if l.clock.Now() >= l.expiry() {
		return keepalive.ErrExpired
	}
	return nil
}

// explained adds to a loss who took the lock away, if that is known and the lease did not just end.
func (l *lease) explained(err error) error {
	why := l.taken.Load()
	if why == nil || errors.Is(err, keepalive.ErrExpired) || errors.Is(err, errNoRenewal) || strings.Contains(err.Error(), *why) {
		return err
	}
	return fmt.Errorf("%w; %s", err, *why)
}

// reportLoss returns err. If err is a loss, it first emits Lost. It is for losses that no
// supervisor sees: those before a start, or between two.
func (l *lease) reportLoss(err error) error {
	if errors.Is(err, locks.ErrLost) {
		l.report.emit(event.Event{Kind: event.Lost, Class: ClassOf(err), Reason: err.Error()})
	}
	return err
}

// ended reports whether the term has ended, as far as keepalive knows.
func (l *lease) ended() bool { return l.kept.Err() != nil }

// attach passes each new deadline on to the guard of a job, until attach(nil).
func (l *lease) attach(job proc.Job) {
	if job == nil {
		l.job.Store(nil)
		return
	}
	l.job.Store(&job)
	job.Extend(l.killAt()) // a renewal may have moved it meanwhile
}

// keepsWaiting reports whether to wait longer for processes that survive SIGKILL. We wait
// while the lock may be ours, and for patience after that.
func (l *lease) keepsWaiting(now clock.Instant) bool {
	e := l.expiry()
	return l.kept != nil && (e == clock.Never || now <= e.Add(patience))
}

// onRenewal is called after each attempt to renew, by the goroutine that renews. It passes
// the new deadline to the guard before it calls renewed, which may be slow: the guard
// kills the job at the latest deadline that it knows.
func (l *lease) onRenewal(n keepalive.Renewal, renewed func(keepalive.Renewal)) {
	if job := l.job.Load(); n.Err == nil && job != nil {
		(*job).Extend(l.timing.KillAt(n.Deadline))
	}
	renewed(n)
	if n.Err == nil {
		return
	}
	left := n.Deadline.Sub(n.Done).Milliseconds()
	l.report.emit(event.Event{Kind: event.RenewFailed, Class: ClassOf(n.Err), Reason: n.Err.Error(), LeftMS: &left})
}
