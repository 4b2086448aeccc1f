package etcd

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	backoffMin = 20 * time.Millisecond
	backoffMax = time.Second
)

// A backoff is the pause between attempts: it doubles, between backoffMin and
// backoffMax, and is spread by half so that a fleet does not move in step.
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
