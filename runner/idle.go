package runner

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
)

// idle waits under the lease while nothing of the job runs. It returns nil when
// the time is over, and otherwise why the term must end: a *[SignalError], a
// *[ResignError], or that the lease was lost.
func (t *term) idle(d time.Duration) error { return t.idleUntil(t.c.Clock.Now().Add(d), nil) }

// idleUntil is idle until a moment, or until done is closed.
func (t *term) idleUntil(until clock.Instant, done <-chan struct{}) error {
	beats := heartbeat.New(t.c.Heartbeat, t.c.Clock, heartbeat.Leading)
	defer beats.Stop()
	for {
		if err := t.lease.lost(); err != nil {
			return t.lease.tellLost(err)
		}
		select {
		case <-done:
			return nil
		default:
		}
		if t.c.Clock.Now() >= until {
			return nil
		}
		timer := clock.NewTimer(t.c.Clock, min(until, t.lease.expiry()))
		err := t.idleFor(timer, done, beats)
		timer.Stop()
		if err != nil {
			return err
		}
	}
}

// idleFor waits until something happens.
func (t *term) idleFor(timer *clock.Timer, done <-chan struct{}, beats *heartbeat.Heartbeat) error {
	select {
	case sig := <-t.c.Signals:
		if ends(sig, t.detached) {
			t.sent = sig
			return &SignalError{sig}
		}
	case <-t.lease.failures(): //nolint:errcheck // nothing runs that could be stopped
	case request := <-t.requests:
		return t.resignFor(request)
	case <-t.lease.done():
	case <-done:
	case <-timer.C:
	case <-beats.C:
		beats.Beat()
	}
	return nil
}
