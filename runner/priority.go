package runner

import (
	"context"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// outranked returns a *locks.HeldError that names the one who waits with a greater
// priority for a lock that was just granted. That one is among the next in the queue;
// the others before them do as we do. If nobody can say who waits, we lead.
func (c *Config) outranked(ctx context.Context, lock locks.Lock) error {
	if c.Priority == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timing.Attempt)
	defer cancel()
	state, err := lock.(locks.Inspector).Inspect(ctx) // as required before the campaign
	if err != nil {
		c.Logger.Warn("it is not known whether anybody waits with a greater priority", "err", err)
		return nil
	}
	for _, place := range state.Queue {
		if place.Priority > *c.Priority {
			c.Logger.Info("stepping back", "leader", locks.Printable(place.Holder), "priority", place.Priority)
			return &locks.HeldError{Status: locks.Status{Held: true, Holder: place.Holder, RunID: place.RunID}}
		}
	}
	return nil
}

// stepBack gives up a lock under which nothing was started.
func (c *Config) stepBack(ctx context.Context, lease *keepalive.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Timing.Attempt)
	defer cancel()
	if err := lease.Release(ctx); err != nil {
		c.Logger.Warn("the lock was not released and frees itself when its lease ends", "ttl", lease.Grant().TTL, "err", err)
	}
}
