// Package backoff makes pauses between attempts.
package backoff

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"
)

const (
	shortest = 20 * time.Millisecond
	longest  = time.Second
)

// A Backoff is the pause between attempts. It doubles, between two limits, and varies by up
// to half, so that a fleet does not move in step. The zero value is ready to use, by one
// goroutine.
type Backoff struct {
	Shortest time.Duration // 0: 20 ms
	Longest  time.Duration // 0: 1 s

	next time.Duration
}

// Next returns the longest that the next pause can take. It will take at least half of that.
func (b *Backoff) Next() time.Duration { return max(b.next, cmp.Or(b.Shortest, shortest)) }

// Take returns the next pause, for a caller that waits by other means.
func (b *Backoff) Take() time.Duration {
	d := b.Next()
	b.next = min(2*d, cmp.Or(b.Longest, longest))
	return d/2 + rand.N(d-d/2)
}

// Wait pauses. If ctx ends, it returns early, with an error.
func (b *Backoff) Wait(ctx context.Context) error { return Sleep(ctx, b.Take()) }

// AtLeast makes the next pause at least d.
func (b *Backoff) AtLeast(d time.Duration) { b.next = max(b.next, 2*d) }

// Reset makes the next pause the shortest.
func (b *Backoff) Reset() { b.next = 0 }

// Sleep pauses for d. If ctx ends, it returns early, with an error.
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
