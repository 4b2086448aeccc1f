package runner

import (
	"errors"
	"sync/atomic"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// A bound is what a task runs under: a lease, which ends it in time, or no lease.
type bound interface {
	// expiry returns E, until which the lease is ours for certain, as of now: each
	// renewal moves it. It is clock.Never if there is no end.
	expiry() clock.Instant
	// lost returns why the lease cannot be relied on any more, or nil.
	lost() error
	// tellLost returns an error that was met before a start or between two. If the
	// error is a loss, it emits the event.
	tellLost(error) error
	done() <-chan struct{}  // closed when the lease has ended
	failures() <-chan error // gets a failed renewal, but no loss
	// attach passes each new deadline on to a job's guard. Nil ends that.
	attach(proc.Job)
	// keepsWaiting reports whether to wait longer for processes that survive SIGKILL:
	// as long as the lock may be ours, and a while after that.
	keepsWaiting(now clock.Instant) bool
}

// leased is the bound of a term. It is safe for concurrent use.
type leased struct {
	lease  *keepalive.Lease
	clock  clock.Clock
	timing timing.Timing
	report reporter
	job    atomic.Pointer[proc.Job] // what runs, or nil
	failed chan error
}

func (l *leased) expiry() clock.Instant {
	if e, ends := l.lease.Deadline(); ends {
		return e
	}
	return clock.Never
}

// lost looks at the clock, too: if we were frozen, the lease itself may not know yet.
func (l *leased) lost() error {
	if err := l.lease.Err(); err != nil {
		return err
	}
	if l.clock.Now() >= l.expiry() {
		return keepalive.ErrExpired
	}
	return nil
}

func (l *leased) tellLost(err error) error {
	if errors.Is(err, locks.ErrLost) {
		l.report.emit(event.Event{Kind: event.Lost, Class: ClassOf(err), Reason: err.Error()})
	}
	return err
}

func (l *leased) done() <-chan struct{}  { return l.lease.Done() }
func (l *leased) failures() <-chan error { return l.failed }

func (l *leased) attach(job proc.Job) {
	if job == nil {
		l.job.Store(nil)
		return
	}
	l.job.Store(&job)
	job.Extend(l.timing.KillAt(l.expiry())) // it may have been renewed meanwhile
}

func (l *leased) keepsWaiting(now clock.Instant) bool {
	e := l.expiry()
	return e == clock.Never || now <= e.Add(patience)
}

// renewed is called after each attempt to renew, by the goroutine that renews. The guard
// gets the new deadline before anybody else hears of it: they may be slow, and the guard
// kills the job at the deadline that it knows.
func (l *leased) renewed(n keepalive.Renewal, tell func(keepalive.Renewal)) {
	if job := l.job.Load(); n.Err == nil && job != nil {
		(*job).Extend(l.timing.KillAt(n.Deadline))
	}
	if tell != nil {
		tell(n)
	}
	if n.Err == nil {
		return
	}
	left := n.Deadline.Sub(n.Done).Milliseconds()
	l.report.emit(event.Event{Kind: event.RenewFailed, Class: ClassOf(n.Err), Reason: n.Err.Error(), LeftMS: &left})
	if errors.Is(n.Err, locks.ErrLost) {
		return // done is closed, which says more
	}
	select {
	case l.failed <- n.Err:
	default: // the supervisor has yet to look at an earlier one
	}
}

// unleased is the bound of a hook that runs before or after a term.
type unleased struct{}

func (unleased) expiry() clock.Instant           { return clock.Never }
func (unleased) lost() error                     { return nil }
func (unleased) tellLost(err error) error        { return err }
func (unleased) done() <-chan struct{}           { return nil }
func (unleased) failures() <-chan error          { return nil }
func (unleased) attach(proc.Job)                 {}
func (unleased) keepsWaiting(clock.Instant) bool { return false }
