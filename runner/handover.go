package runner

import (
	"cmp"
	"context"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
)

// handOver ends the term. Nothing of the job is left, unless it could not be killed: then
// the lock is not released.
func (t *term) handOver(o outcome) {
	t.leaving = true
	lost := t.loss(o)
	if lost == nil && !t.unkillable {
		t.holdOn(o)
		lost = t.runResign(o)
	}
	if t.unkillable { // of the job, or of the hook
		t.report.emit(event.Event{Kind: event.ReleaseFailed, Class: event.ClassLeftovers, Reason: "processes of the job survive SIGKILL"})
		return
	}
	if t.keeps {
		return
	}
	if t.marked && t.lease.lost() == nil {
		t.markClean()
	}
	lost = cmp.Or(lost, t.lease.lost())
	last := t.isLast(o)
	if lost == nil { // otherwise a hook follows, which may use the socket
		t.closing.Go(t.closeSocket)
	}
	t.alone = !last && lost == nil && t.nobodyWaits()
	if last {
		t.r.observer.Heartbeat(heartbeat.Over)
	}
	t.release(last)
	if lost != nil {
		t.runLost(lost, last)
	}
}

// loss returns why leadership was lost, or nil. Leadership may be lost before the lease
// expires, because the supervisor ends the task in time.
func (t *term) loss(o outcome) error {
	if o.class().lost {
		return o.err
	}
	return t.lease.lost()
}

// holdOn keeps the lock for MinHold, unless we resign or a signal ended us.
func (t *term) holdOn(o outcome) {
	if t.began == 0 || t.r.MinHold <= 0 || t.sent != nil || o.class().word == event.ClassResigned {
		return
	}
	if left := t.r.MinHold - t.r.Clock.Now().Sub(t.began); left > 0 {
		t.report.log.Info("holding the lock", "left", left.Round(time.Millisecond))
		_ = t.idle(left) // if something else ends the wait, the term ends as well
	}
}

// release releases the lock. If that fails, the lock is free when its lease ends.
func (t *term) release(last bool) {
	lost := t.lease.lost()
	err := t.awaitRelease(last)
	switch {
	case lost != nil: // it was no longer ours; the release only tidies up
		t.report.log.Debug("release after loss", "err", err)
	case err != nil:
		t.report.log.Warn("the lock could not be released; it is free when its lease ends", "ttl", t.grant.TTL, "err", err)
		t.report.emit(event.Event{Kind: event.ReleaseFailed, Class: ClassOf(err), Reason: err.Error()})
	default:
		t.report.log.Info("released")
		t.report.emit(event.Event{Kind: event.Released})
	}
}

// awaitRelease releases the lock, and notes a signal that arrives meanwhile and ends us. Unless
// this is the last term, others learn that we are well.
func (t *term) awaitRelease(last bool) error {
	hurry, cancel := context.WithCancel(context.Background())
	defer cancel()
	released := make(chan error, 1)
	go func() { released <- t.r.giveUp(hurry, t.lease.kept) }()
	beat := new(heartbeat.Heartbeat)
	if !last {
		beat = heartbeat.New(t.r.observer.Heartbeat, t.r.Clock, heartbeat.Waiting)
	}
	defer beat.Stop()
	for {
		select {
		case err := <-released:
			return err
		case sig := <-t.r.Signals:
			if ends(sig, t.detached) {
				t.sent = sig
				cancel()
			}
		case <-beat.C:
			beat.Beat()
		}
	}
}

// giveUp releases the lock of a lease. While that would let others lead sooner, it waits as long
// as for any answer of the backend: on a busy machine, a release may take a while. From the end
// of hurry, it waits no longer than for an attempt to renew.
func (r *run) giveUp(hurry context.Context, kept *keepalive.Lease) error {
	attempt := max(r.Timing.Attempt, time.Second)
	limit := r.ConnectTimeout
	if e, ends := kept.Deadline(); ends {
		limit = min(limit, e.Sub(r.Clock.Now()))
	}
	ctx, cancel := context.WithTimeout(context.Background(), max(limit, attempt))
	defer cancel()
	defer context.AfterFunc(hurry, func() { time.AfterFunc(attempt, cancel) })()
	return kept.Release(ctx)
}
