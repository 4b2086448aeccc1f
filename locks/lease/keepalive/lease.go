// Package keepalive makes a [Lease] over any [locks.Lock]: the one loop in
// leaderrun that renews, and the one place that knows how long a lease may be
// trusted.
//
// # The rules
//
// Let L be the lease as granted, t_s the boot-clock reading taken before the
// last acknowledged renewal was sent, and ρ = 500 ppm the greatest error of a
// clock's rate. The lease surely runs until
//
//	E = t_s + L(1 − 2ρ)
//
// and no longer: the server cannot have started to count before it was asked,
// and the two clocks part by at most 2ρ. Three things follow.
//
//   - Only an acknowledged renewal moves E, and it moves it to the moment it
//     was sent, never to the moment of the reply. A timeout, an error or a
//     disconnection moves nothing, and nothing waits for the server to say
//     "expired".
//   - After E, or after a definite "not yours", the lease is never renewed
//     again, even though some servers would allow it: in between somebody else
//     may have led. A new term needs a new Lock.
//   - Nothing renews by itself. The loop runs in the process that supervises
//     the job, so that a frozen or dead supervisor loses its lock.
//
// While Acquire waits, a place in the queue may itself be a lease; it is
// renewed likewise, beside the pending Acquire, and the first deadline of the
// term then counts from the last renewal and not from the moment when the lock
// became ours.
package keepalive

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// ErrExpired ends a lease whose deadline passed without an acknowledged
// renewal. It wraps locks.ErrLost.
var ErrExpired error = expired{}

type expired struct{}

func (expired) Error() string { return "the lease ran out before a renewal was acknowledged" }
func (expired) Unwrap() error { return locks.ErrLost }

// ErrReleased is the Err of a lease that was released.
var ErrReleased = errors.New("the lease was released")

// Trusted returns how much of a granted lease may be used, measured on a clock
// whose rate may differ from the server's: L(1 − 2ρ) with ρ = 500 ppm.
func Trusted(ttl time.Duration) time.Duration { return ttl - ttl/1000 }

// Options say how to keep a lease.
type Options struct {
	// Interval is R, the time from the sending of one renewal to the next;
	// positive.
	Interval time.Duration
	// Attempt is A, the time limit of one renewal; positive.
	Attempt time.Duration
	// Clock is the boot clock; nil means clock.Boot.
	Clock clock.Clock
	// Logger gets each renewal (Debug) and the first failure in a row (Warn);
	// nil discards.
	Logger *slog.Logger
	// Renewed, if not nil, is called after each attempt of a held lease, one
	// call at a time. While it, or the Logger, blocks, nothing is renewed; the
	// lease still ends at E.
	Renewed func(Renewal)
}

// A Renewal is one attempt to renew.
type Renewal struct {
	Sent     clock.Instant // just before the request was sent
	Done     clock.Instant // when its answer, or its failure, was seen
	Left     time.Duration // from Done to E as it was before: how close it came
	Deadline clock.Instant // E after it
	Err      error         // nil if acknowledged
}

// A Lease is one term of leadership. Done, Err and Deadline mirror
// context.Context; unlike a context's, a lease's deadline advances, and "the
// caller gave up" never looks like "the lease was lost". Its methods are safe
// for concurrent use.
type Lease struct {
	lock  locks.Lock
	grant locks.Grant
	o     Options

	cancel context.CancelFunc // ends the loop
	done   chan struct{}
	ended  chan struct{} // the loop has returned

	renewing attempt // the loop's own until it has ended
	failing  bool    // the last renewal failed; the attempts' own, one after the other

	mu       sync.Mutex
	deadline clock.Instant
	err      error // why Done was closed
}

// Done is closed when the term has ended: the lease was lost, its deadline
// passed, or it was released.
func (l *Lease) Done() <-chan struct{} { return l.done }

// Err is nil until Done is closed, and then says why: an error that wraps
// locks.ErrLost, or ErrReleased.
func (l *Lease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Deadline returns E, until which the lease is surely ours unless Done is
// closed; false if it cannot end while this process lives.
func (l *Lease) Deadline() (clock.Instant, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadline, l.grant.TTL > 0
}

// Grant returns what the backend granted: token and TTL.
func (l *Lease) Grant() locks.Grant { return l.grant }

// Release ends the term and gives the lock up; ctx bounds the request to the
// server. It is idempotent. A lease that was lost is given up, too, on the
// condition of our own nonce or token: that is harmless, and tidies up.
//
// Each lease must be released. Once Release has returned before the end of
// ctx, nothing of the lease runs any more, and its Lock may be closed.
func (l *Lease) Release(ctx context.Context) error {
	l.end(ErrReleased)
	l.cancel()
	<-l.ended
	err := l.lock.Release(ctx)
	if l.renewing.answer != nil { // a Renew that was cancelled by all this
		select {
		case <-l.renewing.answer: //nolint:errcheck // what a renewal came to that was cancelled
		case <-ctx.Done():
		}
	}
	return err
}

// end closes Done with the given reason, once.
func (l *Lease) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
		close(l.done)
	}
}
