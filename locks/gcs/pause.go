package gcs

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/leaderrun/leaderrun/locks/backoff"
)

const (
	// pollFresh and pollNear are the mean pauses of a waiter between two looks:
	// while the lease that it waits for is fresh, and when it has less than near
	// left.
	pollFresh = 2 * time.Second
	pollNear  = time.Second
	near      = 3 * time.Second
	// ahead spreads those who wait for the same lease to end.
	ahead = 300 * time.Millisecond

	backoffMin = 50 * time.Millisecond
	backoffMax = 2 * time.Second
	// throttled is the least pause after a write was refused for coming too soon:
	// the service allows one a second for each object.
	throttled = time.Second
)

// poll is how long to wait for the next look at a lease that has this left.
// Each pause is spread by half around its mean, so that a fleet does not move
// in step.
func poll(left time.Duration) time.Duration {
	mean := pollFresh
	if left < near {
		mean = pollNear
	}
	return min(mean/2+rand.N(mean), left+rand.N(ahead))
}

// newBackoff is for requests to a service that is far away, and counts them.
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
