package runner

import (
	"context"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// outranked returns a *locks.HeldError that names who waits with a greater
// priority for a lock that was just granted. He is among the next in the queue;
// the others before him do as we do. That it cannot be found out is no reason not
// to lead.
func (r *run) outranked(ctx context.Context, lock locks.Lock) error {
	if r.Priority == nil {
		return nil
	}
	above, err := r.above(ctx, lock)
	if err != nil {
		r.Logger.Warn("it is not known whether anybody waits with a greater priority", "err", err)
	}
	if above == nil {
		return nil
	}
	r.Logger.Info("stepping back", "leader", locks.Printable(above.Holder), "priority", above.Priority)
	return &locks.HeldError{Status: locks.Status{Held: true, Holder: above.Holder, RunID: above.RunID}}
}

// stepBack gives up a lock under which nothing was started.
func (r *run) stepBack(ctx context.Context, lease *keepalive.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.Timing.Attempt)
	defer cancel()
	if err := lease.Release(ctx); err != nil {
		r.Logger.Warn("the lock was not released and frees itself when its lease ends", "ttl", lease.Grant().TTL, "err", err)
	}
}

// above returns who waits with a greater priority than ours, or nil.
func (r *run) above(ctx context.Context, lock locks.Lock) (*locks.Place, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Timing.Attempt)
	defer cancel()
	state, err := lock.(locks.Inspector).Inspect(ctx) // as required before the campaign
	if err != nil {
		return nil, err
	}
	for _, place := range state.Queue {
		if place.Priority > *r.Priority {
			return &place, nil
		}
	}
	return nil, nil
}
