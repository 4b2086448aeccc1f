// Package backoff spaces attempts.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	shortest = 20 * time.Millisecond
	longest  = time.Second
)

// A Backoff is the pause between attempts: it doubles, between 20 ms and 1 s,
// and is spread by half so that a fleet does not move in step. The zero value
// is ready for use, by one goroutine.
type Backoff struct{ next time.Duration }

// Wait pauses; it returns early, with an error, when ctx ends.
func (b *Backoff) Wait(ctx context.Context) error {
	d := max(b.next, shortest)
	b.next = min(2*d, longest)
	return Sleep(ctx, d/2+rand.N(d/2))
}

// Reset makes the next pause the shortest.
func (b *Backoff) Reset() { b.next = 0 }

// Sleep pauses for d; it returns early, with an error, when ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
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
