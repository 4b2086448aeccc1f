package gcs

import (
	"context"
	"math/rand/v2"
	"time"
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

// A backoff is the pause between attempts: it doubles, between backoffMin and
// backoffMax, and is spread by half.
type backoff struct{ next time.Duration }

// wait pauses; it returns early, with an error, when ctx ends.
func (b *backoff) wait(ctx context.Context) error {
	d := max(b.next, backoffMin)
	b.next = min(2*d, backoffMax)
	return sleep(ctx, d/2+rand.N(d/2))
}

func (b *backoff) reset() { b.next = 0 }

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lingering returns a context that outlives another by d. A write that is on
// its way is better awaited for a moment than given up: then it is known what
// became of it.
func lingering(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		_ = sleep(late, d)
		cancel()
	})
	return late, func() { stop(); cancel() }
}
