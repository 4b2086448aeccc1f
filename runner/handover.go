package runner

import (
	"cmp"
	"context"
	"time"

	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
)

// handOver ends the term. Nothing of the job is left, unless it could not be killed.
func (t *term) handOver(o outcome) {
	if t.unkillable {
		t.abandon()
		return
	}
	t.leaving = true
	lost := t.loss(o)
	if lost == nil {
		t.holdOn(o)
		lost = t.runResign(o)
	}
	if t.unkillable { // something of the hook
		t.abandon()
		return
	}
	if t.lease.lost() == nil {
		t.markClean()
	}
	lost = cmp.Or(lost, t.lease.lost())
	last := t.isLast(o)
	t.release(last)
	if lost != nil {
		t.runLost(lost, last)
	}
}

// abandon reports that the lock is not released, as something of the job is left.
func (t *term) abandon() {
	t.report.emit(event.Event{Kind: event.ReleaseFailed, Class: event.ClassLeftovers, Reason: "processes of the job survive SIGKILL"})
}

// loss returns why leadership was lost, or nil. It may be certain before the lease
// has run out: what was to be ended with it has ended.
func (t *term) loss(o outcome) error {
	if o.class().lost {
		return o.err
	}
	return t.lease.lost()
}

// holdOn keeps the lock for as long as MinHold asks, unless it is to be somebody
// else's.
func (t *term) holdOn(o outcome) {
	if t.began == 0 || t.c.MinHold <= 0 || t.sent != nil || o.class().word == event.ClassResigned {
		return
	}
	if left := t.c.MinHold - t.c.Clock.Now().Sub(t.began); left > 0 {
		t.report.log.Info("holding the lock", "left", left.Round(time.Millisecond))
		_ = t.idle(left) // whatever ends it ends the term
	}
}

// release gives the lock up. If that fails, its TTL frees the lock.
func (t *term) release(last bool) {
	if t.c.Heartbeat != nil && last {
		t.c.Heartbeat(heartbeat.Over)
	}
	ctx, cancel := context.WithTimeout(context.Background(), max(t.c.Timing.Attempt, time.Second))
	defer cancel()
	lost := t.lease.lost()
	err := t.lease.lease.Release(ctx)
	switch {
	case lost != nil: // it was not ours any more, and this only tidied up
		t.report.log.Debug("release after loss", "err", err)
	case err != nil:
		t.report.log.Warn("the lock was not released and frees itself when its lease ends", "ttl", t.grant.TTL, "err", err)
		t.report.emit(event.Event{Kind: event.ReleaseFailed, Class: ClassOf(err), Reason: err.Error()})
	default:
		t.report.log.Info("released")
		t.report.emit(event.Event{Kind: event.Released})
	}
}
