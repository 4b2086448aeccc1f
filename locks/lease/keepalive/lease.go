// Package keepalive makes a [Lease] from any [locks.Lock]. It has the only loop in
// leaderrun that renews, and it alone knows how long a lease may be trusted.
//
// # The rules
//
// Let L be the lease as granted, t_s the reading of the boot clock just before the last
// acknowledged renewal was sent, and ρ = 500 ppm the greatest error of a clock's rate.
// The lease certainly runs until
//
//	E = t_s + L(1 − 2ρ) − max(0, L/8 − J − X)
//
// and is uncertain after that: the server cannot have started to count before it was
// asked, and the two clocks diverge by at most 2ρ. But the server's may be slewed, by a
// tenth at most (chrony's default is a twelfth): so nothing of the job may be left after
// 7/8 of the lease. The job is dead J + X before E, which is enough for a lease of up to
// 16 s; a longer one ends earlier for us. Nobody knows whose clock a backend's lease is
// counted on, so this holds for all. Three rules follow.
//
//   - Only an acknowledged renewal moves E, and it counts from when it was sent,
//     never from when the reply arrived. A timeout, an error or a disconnection moves
//     nothing, and nothing waits for the server to say "expired".
//   - After E, or after a definite "not yours", the lease is never renewed again, even
//     though some servers would allow it: somebody else may have led in between. A new
//     term needs a new Lock.
//   - Nothing renews by itself. The loop runs in the process that supervises the job, so
//     that a frozen or dead supervisor loses its lock.
//
// While Acquire waits, its place in the queue may itself be a lease. The loop renews
// that lease as well. The first deadline of the term then counts from the last of these
// renewals, not from the moment when the lock became ours.
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

// ErrExpired ends a lease whose deadline passed without an acknowledged renewal. It wraps
// locks.ErrLost.
var ErrExpired error = expired{}

type expired struct{}

func (expired) Error() string { return "the lease ran out before a renewal was acknowledged" }
func (expired) Unwrap() error { return locks.ErrLost }

// ErrReleased is the Err of a lease that was released.
var ErrReleased = errors.New("the lease was released")

// Trusted returns how much of a granted lease may be used, measured on a clock whose rate
// may differ from the server's, with ρ = 500 ppm.
func Trusted(ttl time.Duration) time.Duration {
	return ttl - ttl/1000 - max(0, ttl/8-2*Margin(ttl))
}

// Options configure how a lease is kept.
type Options struct {
	// Interval is R, the time from the sending of one renewal to the sending of the next.
	// It is positive.
	Interval time.Duration
	// Attempt is A, the time limit of one renewal. It is positive.
	Attempt time.Duration
	// Clock is the boot clock; nil means clock.Boot.
	Clock clock.Clock
	// Logger receives each renewal (Debug) and the first failure in a row (Warn). Nil
	// discards.
	Logger *slog.Logger
	// Renewed, if not nil, is called after each attempt of a held lease, one call at a
	// time. While it or the Logger blocks, nothing is renewed; the lease still ends at E.
	Renewed func(Renewal)
}

// A Renewal is one attempt to renew.
type Renewal struct {
	Sent     clock.Instant // just before the request was sent
	Done     clock.Instant // when its answer or failure was seen
	Left     time.Duration // from Done to the E before this renewal: how close it came
	Deadline clock.Instant // E after this renewal
	Err      error         // nil if acknowledged
}

// A Lease is one term of leadership. Done, Err and Deadline resemble those of
// context.Context. But a lease's deadline advances, and Err distinguishes between a loss
// and a release by the caller. The methods may be called concurrently.
type Lease struct {
	lock  locks.Lock
	grant locks.Grant
	o     Options

	cancel context.CancelFunc // ends the loop
	done   chan struct{}
	ended  chan struct{} // the loop has returned

	renewing attempt // used only by the loop until it has ended
	failed   int     // renewals in a row; used only by attempts, one at a time
	warned   bool    // of these; the same

	mu       sync.Mutex
	deadline clock.Instant
	err      error // why Done was closed
}

// Done returns a channel that is closed when the term has ended: the lease was lost, its
// deadline passed, or it was released.
func (l *Lease) Done() <-chan struct{} { return l.done }

// Err returns nil until Done is closed. Then it says why the term ended: an error that
// wraps locks.ErrLost, or ErrReleased.
func (l *Lease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Deadline returns E, until which the lease is certainly ours unless Done is closed. It
// returns false if the lease cannot end while this process lives.
func (l *Lease) Deadline() (clock.Instant, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadline, l.grant.TTL > 0
}

// Grant returns what the backend granted.
func (l *Lease) Grant() locks.Grant { return l.grant }

// Release ends the term and gives the lock up. ctx bounds the request to the server.
// Release is idempotent. It also gives up a lease that was lost, on the condition of our
// own nonce or token, which is harmless and cleans up.
//
// Each lease must be released. If Release returns before ctx ends, nothing of the lease
// runs any more, and its Lock may be closed.
func (l *Lease) Release(ctx context.Context) error {
	l.end(ErrReleased)
	l.cancel()
	<-l.ended
	err := l.lock.Release(ctx)
	if l.renewing.answer != nil { // a Renew that ending the loop has cancelled
		select {
		case <-l.renewing.answer: //nolint:errcheck // the outcome of a cancelled renewal
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
