package runner

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// idle waits under the lease while nothing of the job runs. It returns nil when
// the time is over, and otherwise why the term must end: a *[SignalError], a
// *[ResignError], or that the lease was lost.
func (r *run) idle(d time.Duration) error { return r.idleUntil(r.Clock.Now().Add(d), nil) }

// idleUntil is idle until a moment, or until done is closed.
func (r *run) idleUntil(until clock.Instant, done <-chan struct{}) error {
	pulse := r.pulse(StageLeading)
	defer pulse.stop()
	for {
		if err := r.lostLease(); err != nil {
			return r.lostWhile(err)
		}
		if r.Clock.Now() >= until || closed(done) {
			return nil
		}
		timer := clock.NewTimer(r.Clock, min(until, r.expiry()))
		err := r.idleFor(timer, done, pulse)
		timer.Stop()
		if err != nil {
			return err
		}
	}
}

// idleFor waits until something happens.
func (r *run) idleFor(timer *clock.Timer, done <-chan struct{}, pulse *pulse) error {
	select {
	case sig := <-r.Signals:
		if r.ends(sig) {
			r.sent = sig
			return &SignalError{sig}
		}
	case <-r.failures: //nolint:errcheck // there is nothing that could be stopped
	case text := <-r.asked:
		if err := r.petition(text); err != nil {
			return err
		}
	case <-r.lease.Done():
	case <-done:
	case <-timer.C:
	case <-pulse.C:
		pulse.beat()
	}
	return nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
