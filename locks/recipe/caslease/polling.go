package caslease

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

const (
	backoffMin = 50 * time.Millisecond
	backoffMax = 2 * time.Second
	// anyway is the mean pause between two reads of a waiter that also watches for changes.
	anyway = 10 * time.Second
)

// poll returns how long to pause before the next look at a lease that has this much left.
// If the waiter watches for changes, one may wake it before that. Each pause varies by half
// around its mean, so that a fleet does not move in step.
func (t *Traits) poll(left time.Duration, watching bool) time.Duration {
	mean := t.Poll
	switch {
	case watching:
		mean = anyway
	case left < t.Poll*3/2: // near its end
		mean = t.Poll / 2
	}
	return min(mean/2+rand.N(mean), left+rand.N(t.spread()))
}

// spread is the time over which the attempts of those who wait for the same lease to end
// are spread.
func (t *Traits) spread() time.Duration { return t.Poll * 3 / 20 }

// newBackoff returns pauses for requests to a store that may be far away and may charge for
// each request.
func newBackoff() backoff.Backoff {
	return backoff.Backoff{Shortest: backoffMin, Longest: backoffMax}
}

// lingering returns a context that outlives another by d. It is better to wait a moment for
// the answer to a write than to give it up: then we know its outcome.
func lingering(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		_ = backoff.Sleep(late, d)
		cancel()
	})
	return late, func() { stop(); cancel() }
}
