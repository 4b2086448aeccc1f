package caslease

import (
	"context"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

const (
	backoffMin = 50 * time.Millisecond
	backoffMax = 2 * time.Second
	// anyway is the mean pause between two looks of a waiter who is told of changes.
	anyway = 10 * time.Second
)

// poll is how long to wait for the next look at a lease that has this left; told:
// unless the store tells of a change before. Each pause is spread by half around its
// mean, so that a fleet does not move in step.
func (t *Traits) poll(left time.Duration, told bool) time.Duration {
	mean := t.Poll
	switch {
	case told:
		mean = anyway
	case left < t.Poll*3/2: // near its end
		mean = t.Poll / 2
	}
	return min(mean/2+randomBelow(mean), left+randomBelow(t.ahead()))
}

// ahead spreads those who wait for the same lease to end.
func (t *Traits) ahead() time.Duration { return t.Poll * 3 / 20 }

// newBackoff is for requests to a store that may be far away, and counts them.
func newBackoff() backoff.Backoff {
	return backoff.Backoff{Shortest: backoffMin, Longest: backoffMax}
}

// lingering returns a context that outlives another by d. A write that is on
// its way is better awaited for a moment than given up: then it is known what
// became of it.
func lingering(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		_ = backoff.Sleep(late, d)
		cancel()
	})
	return late, func() { stop(); cancel() }
}
