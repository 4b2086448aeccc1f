package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/signals"
)

// handOver ends the term. Nothing of the job is left, if it could be killed.
func (r *run) handOver(exit proc.Exit, err error) {
	if r.unkillable {
		r.abandon()
		return
	}
	r.leaving = true
	lost := r.loss(err)
	if lost == nil {
		r.holdOn(err)
		lost = r.resign(exit, err)
	}
	if r.unkillable { // something of the hook
		r.abandon()
		return
	}
	if r.lostLease() == nil {
		r.markClean()
	}
	lost = cmp.Or(lost, r.lostLease())
	last := r.final(err)
	r.release(last)
	if lost != nil {
		r.mourn(lost, last)
	}
}

// abandon tells that the lock is not released, as something of the job is left.
func (r *run) abandon() {
	r.emit(Event{Kind: EventReleaseFailed, Class: classLeftovers, Reason: "processes of the job survive SIGKILL"})
}

// loss is why leadership was lost, or nil. That may be for sure before the lease
// has run out: what was to be ended with it has ended.
func (r *run) loss(err error) error {
	if errors.Is(err, locks.ErrLost) {
		return err
	}
	return r.lostLease()
}

// holdOn keeps the lock for as long as MinHold asks, unless it is to be somebody
// else's.
func (r *run) holdOn(err error) {
	if r.began == 0 || r.MinHold <= 0 || r.sent != nil || errors.As(err, new(*ResignError)) {
		return
	}
	if left := r.MinHold - r.Clock.Now().Sub(r.began); left > 0 {
		r.Logger.Info("holding the lock", "left", left.Round(time.Millisecond))
		_ = r.idle(left) // whatever ends it ends the term
	}
}

// release gives the lock up. That it may fail is no error: the TTL frees it.
func (r *run) release(last bool) {
	if r.Alive != nil && last {
		r.Alive(StageOver)
	}
	ctx, cancel := context.WithTimeout(context.Background(), max(r.Timing.Attempt, time.Second))
	defer cancel()
	lost := r.lostLease()
	err := r.lease.Release(ctx)
	switch {
	case lost != nil: // it was not ours any more, and this only tidied up
		r.Logger.Debug("release after loss", "err", err)
	case err != nil:
		r.Logger.Warn("the lock was not released and frees itself when its lease ends", "ttl", r.grant.TTL, "err", err)
		r.emit(Event{Kind: EventReleaseFailed, Class: ClassOf(err), Reason: err.Error()})
	default:
		r.Logger.Info("released")
		r.emit(Event{Kind: EventReleased})
	}
}

// reasonOf says how a term or a job ended.
func reasonOf(exit proc.Exit, err error) string {
	var signalled *SignalError
	switch {
	case errors.As(err, &signalled):
		return "signal " + signals.Name(signalled.Signal)
	case err != nil:
		return err.Error()
	}
	return "the job " + ended(exit)
}

// ended says how a process did.
func ended(exit proc.Exit) string {
	if exit.Signal != nil {
		return "died of signal " + signals.Name(exit.Signal)
	}
	return fmt.Sprintf("exited with %d", exit.Code)
}
