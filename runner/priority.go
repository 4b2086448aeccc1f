package runner

import (
	"context"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// outranked returns a *locks.HeldError with a waiter of greater priority for the lock that
// we were just granted, or nil. Waiters that get the lock before that one step back as we
// do. If the queue cannot be read, outranked returns nil.
func (r *run) outranked(ctx context.Context, lock locks.Lock) error {
	if r.Priority == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timing.Attempt)
	defer cancel()
	state, err := lock.(locks.Inspector).Inspect(ctx) // as required before the campaign
	if err != nil {
		r.Logger.Warn("cannot read the priorities of other waiters", "err", err)
		return nil
	}
	for _, place := range state.Queue {
		if place.Priority > *r.Priority {
			r.Logger.Info("stepping back", "holder", locks.Printable(place.Holder), "priority", place.Priority)
			return &locks.HeldError{Status: locks.Status{Held: true, Holder: place.Holder, RunID: place.RunID}}
		}
	}
	return nil
}

// stepBack releases a lock under which nothing was started. The end of ctx is a hurry.
func (r *run) stepBack(ctx context.Context, kept *keepalive.Lease) {
	if err := r.giveUp(ctx, kept); err != nil {
		r.Logger.Warn("the lock could not be released; it is free when its lease ends", "ttl", kept.Grant().TTL, "err", err)
	}
}
