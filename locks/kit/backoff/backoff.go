// Package backoff spaces attempts.
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

// A Backoff is the pause between attempts: it doubles, between two limits, and
// is spread by half so that a fleet does not move in step. The zero value is
// ready for use, by one goroutine.
type Backoff struct {
	Shortest time.Duration // 0: 20 ms
	Longest  time.Duration // 0: 1 s

	next time.Duration
}

// Next is the most that the next pause can take. At least half of it will be.
func (b *Backoff) Next() time.Duration { return max(b.next, cmp.Or(b.Shortest, shortest)) }

// Take returns the next pause, for who does the waiting himself.
func (b *Backoff) Take() time.Duration {
	d := b.Next()
	b.next = min(2*d, cmp.Or(b.Longest, longest))
	return d/2 + rand.N(d-d/2)
}

// Wait pauses; it returns early, with an error, when ctx ends.
func (b *Backoff) Wait(ctx context.Context) error { return Sleep(ctx, b.Take()) }

// AtLeast makes the next pause take at least d.
func (b *Backoff) AtLeast(d time.Duration) { b.next = max(b.next, 2*d) }

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
