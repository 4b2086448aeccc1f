// Package answers tells a lock that is held from a server that is down, for a waiter whose
// time runs out.
//
// The lock is held if the server has said so lately. If it has not, nobody knows: the holder
// may be dead, and its lease over. Then the waiter was not refused, but had no answer, and
// what it reports is the last failure. This is a package of its own because the runner needs
// it, and knows no recipe.
package answers

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// oldest is the age from which an answer says nothing, however long leases are.
const oldest = 15 * time.Second

// Answers are what a waiter has heard. The methods may be called concurrently.
type Answers struct {
	clock clock.Clock
	ttl   time.Duration
	most  time.Duration

	mu     sync.Mutex
	known  bool
	status locks.Status  // by the youngest answer
	at     clock.Instant // when that came
	failed error         // the last failure since; nil: none
	vague  bool          // it only says that the time was up
}

// New returns the Answers of a waiter that wants a lease of the given ttl. A look takes at most
// as long as the connect timeout.
func New(c clock.Clock, ttl, connectTimeout time.Duration) *Answers {
	if c == nil {
		c = clock.Boot{}
	}
	return &Answers{clock: c, ttl: ttl, most: connectTimeout / 2}
}

// Held notes an answer that says that somebody else holds the lock.
func (a *Answers) Held(s locks.Status) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status, a.known = s, true
	a.heard()
}

// Same notes an answer that shows that the lock is held as it was.
func (a *Answers) Same() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heard()
}

func (a *Answers) heard() { a.at, a.failed, a.vague = a.clock.Now(), nil, false }

// Failed notes the failure of a request. If it is vague, it only says that the time was up,
// and a failure that says more is kept.
func (a *Answers) Failed(err error, vague bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failed == nil || !vague || a.vague {
		a.failed, a.vague = err, vague
	}
}

// Verdict returns why a waiter whose time is up did not get the lock: a *locks.HeldError, if
// the youngest answer still counts, or the last failure, or, if there is neither, other.
func (a *Answers) Verdict(other error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.known && a.clock.Now().Sub(a.at) < a.limit():
		return &locks.HeldError{Status: a.status}
	case a.failed != nil && !a.vague:
		return a.failed
	}
	return other
}

// limit is the age from which the youngest answer no longer counts. Its holder may have died
// just after it. Mu is held.
func (a *Answers) limit() time.Duration {
	limit := min(a.ttl, oldest)
	if s := a.status.TTL; s > 0 {
		limit = min(limit, s)
	}
	return limit
}

// Look returns how long a waiter may rely on being notified, or wait for its next look: for
// ever, unless the youngest answer would be too old when ctx ends. Then it must look once
// more before that, and early enough for an answer.
func (a *Answers) Look(ctx context.Context) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return math.MaxInt64
	}
	left := time.Until(end)
	a.mu.Lock()
	defer a.mu.Unlock()
	limit := a.limit()
	if a.clock.Now().Sub(a.at)+left < limit {
		return math.MaxInt64
	}
	return max(left-min(limit/2, a.most), 0)
}
