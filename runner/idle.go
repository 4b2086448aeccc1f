package runner

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
)

// idle waits for d under the lease while nothing of the job runs. It returns an error if
// the term must end: a *[SignalError], a *[ResignError], or a loss of the lease.
func (t *term) idle(d time.Duration) error { return t.idleUntil(t.r.Clock.Now().Add(d), nil) }

// idleUntil is like idle, but waits until a moment, or until done is closed.
func (t *term) idleUntil(until clock.Instant, done <-chan struct{}) error {
	beat := heartbeat.New(t.r.observer.Heartbeat, t.r.Clock, heartbeat.Leading)
	defer beat.Stop()
	for {
		if err := t.lease.lost(); err != nil {
			return t.lease.reportLoss(err)
		}
		select {
		case <-done:
			return nil
		default:
		}
		if t.r.Clock.Now() >= until {
			return nil
		}
		timer := clock.NewTimer(t.r.Clock, min(until, t.lease.expiry()))
		err := t.idleFor(timer, done, beat)
		timer.Stop()
		if err != nil {
			return err
		}
	}
}

// idleFor waits until something happens. It returns an error if the term must end.
func (t *term) idleFor(timer *clock.Timer, done <-chan struct{}, beat *heartbeat.Heartbeat) error {
	select {
	case sig := <-t.r.Signals:
		if ends(sig, t.detached) {
			t.sent = sig
			return &SignalError{sig}
		}
	case request := <-t.requests:
		return t.resignFor(request)
	case <-t.lease.done:
	case <-done:
	case <-timer.C:
	case <-beat.C:
		beat.Beat()
	}
	return nil
}
