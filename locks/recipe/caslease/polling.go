package caslease

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

const (
	backoffMin = 50 * time.Millisecond
	backoffMax = 2 * time.Second
	// anyway is the mean pause between two reads of a waiter that also watches for changes.
	anyway = 10 * time.Second
	// crowded is the mean pause of a waiter after the store had no room for it. A holder does
	// not pause so long, and so finds room first.
	crowded = 10 * time.Second
	// afterLong is when the pauses of a waiter become long: see Traits.LongestPoll.
	afterLong = 10 * time.Minute
)

// A pace is the mean pause of a waiter that polls. It grows with the wait: many who wait for
// long should not keep the store busy.
type pace struct {
	began clock.Instant
	mean  time.Duration
}

// next returns the mean of the next pause, and whether it no longer grows. A term of length ttl
// is seen so often that the waiter has watched its last renewal for long enough when its lease
// ends: see observer.
func (p *pace) next(t *Traits, ttl time.Duration) (mean time.Duration, slow bool) {
	now := t.Clock.Now()
	if p.mean == 0 {
		p.began, p.mean = now, t.Poll
		return p.mean, false
	}
	longest := t.LongestPoll
	if now.Sub(p.began) > afterLong {
		longest *= 6
	}
	longest = min(longest, ttl-keepalive.Silence(ttl)) * 2 / 3 // a pause is up to 3/2 of its mean
	p.mean = min(p.mean*6/5, max(longest, t.Poll))
	return p.mean, t.LongestPoll > 0 && p.mean >= t.LongestPoll*2/3
}

// poll returns how long to pause before the next look at a lease that has this much left.
// If the waiter watches for changes, one may wake it before that. Each pause varies by half
// around its mean, so that a fleet does not move in step.
func (t *Traits) poll(left, mean time.Duration, watching bool) time.Duration {
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

// newOutage returns the pauses of who can wait, so that a fleet does not keep a server busy that
// is coming back.
func newOutage() backoff.Backoff {
	return backoff.Backoff{Shortest: time.Second, Longest: anyway}
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
