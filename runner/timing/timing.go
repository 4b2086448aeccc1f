// Package timing computes when to renew a lease, and when to signal and to kill the job if
// renewals fail.
package timing

import (
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// The shortest and the longest lease. The margins shrink with the lease. Below two seconds
// they would be shorter than a busy machine may take to wake up a process (133 ms at 2 s).
const (
	MinTTL = 2 * time.Second
	MaxTTL = 24 * time.Hour
)

// attempts is the number of attempts to renew that may time out before the signal.
const attempts = 2

// A Timing says when to renew, and when to signal and to kill if renewals fail.
type Timing struct {
	TTL     time.Duration // L: as requested
	Renew   time.Duration // R: from one renewal to the next
	Attempt time.Duration // A: time limit of one renewal
	Grace   time.Duration // G: from the signal to the kill
	Margin  time.Duration // J: how late a busy machine may schedule us
	Death   time.Duration // X: from SIGKILL until the last process is gone
}

// New derives a timing from a TTL. The defaults scale with it, so that all of them fit: at
// 15 s, R is 3 s, A 2 s, G 5 s, J and X 1 s. G, J and X are never greater than that, R is
// never greater than 20 s, and A than 10 s. A grace that is not negative replaces G.
func New(ttl, grace time.Duration) Timing {
	small := keepalive.Margin(ttl)
	t := Timing{
		TTL:     ttl,
		Renew:   keepalive.Interval(ttl),
		Attempt: keepalive.Limit(ttl),
		Grace:   5 * small,
		Margin:  small,
		Death:   small,
	}
	if grace >= 0 {
		t.Grace = grace
	}
	return t
}

// KillAt returns D_kill, when all of the job must be killed, for a lease that is ours for
// certain until e.
func (t Timing) KillAt(e clock.Instant) clock.Instant { return before(e, t.Margin+t.Death) }

// SignalAt returns D_signal, when the job must be signalled so that its grace fits into the
// lease.
func (t Timing) SignalAt(e clock.Instant) clock.Instant { return before(e, t.Margin+t.Death+t.Grace) }

func before(e clock.Instant, d time.Duration) clock.Instant {
	if e == clock.Never {
		return e
	}
	return e.Add(-d)
}

// needs returns the shortest trusted lease into which the timing fits.
func (t Timing) needs() time.Duration {
	return t.Renew + attempts*t.Attempt + t.Grace + t.Margin + t.Death
}

// CheckTTL returns an error if the TTL is out of range.
func (t Timing) CheckTTL() error {
	switch {
	case t.TTL < MinTTL:
		return locks.Usagef("--ttl %v is too short: the minimum is %v", t.TTL, MinTTL)
	case t.TTL > MaxTTL:
		return locks.Usagef("--ttl %v is too long: the maximum is %v", t.TTL, MaxTTL)
	}
	return nil
}

// Gate returns an error if a lease is too short to renew, signal and kill in time.
func (t Timing) Gate(granted time.Duration) error {
	if keepalive.Trusted(granted) >= t.needs() {
		return nil
	}
	what := "--ttl " + show(t.TTL)
	if granted != t.TTL {
		what = fmt.Sprintf("the lease of %v that the server granted (for --ttl %v)", show(granted), show(t.TTL))
	}
	unused := granted - granted/1000 - keepalive.Trusted(granted)
	return &locks.UsageError{What: fmt.Sprintf(
		"%s is too short: renewing every %s, %d attempts of %s, --kill-after %s and margins of %s need %s; %s",
		what, show(t.Renew), attempts, show(t.Attempt), show(t.Grace), show(t.Margin+t.Death+unused), show(t.needs()+unused), t.advice(granted))}
}

// advice returns settings that would pass the gate. A longer --ttl does not help if the
// server grants less than we request.
func (t Timing) advice(granted time.Duration) string {
	if granted < t.TTL {
		less := max(granted.Truncate(time.Second), MinTTL)
		return fmt.Sprintf("use --ttl %v and a --kill-after of at most %s", less, show(New(less, -1).Grace))
	}
	if ttl := t.enough(); ttl <= MaxTTL {
		return fmt.Sprintf("use --ttl %v or more, or a shorter --kill-after", ttl)
	}
	return "use a shorter --kill-after"
}

// enough returns the shortest TTL, in whole seconds, with room for our grace. If no TTL has
// room, it is more than MaxTTL.
func (t Timing) enough() time.Duration { return Shortest(0, t.Grace) }

// Shortest returns the shortest TTL, in whole seconds, that passes the gate with a grace as
// for New, and in which an attempt to renew may take at least attempt. If no TTL does, it is
// more than MaxTTL.
func Shortest(attempt, grace time.Duration) time.Duration {
	ttl := MinTTL
	for ttl <= MaxTTL {
		t := New(ttl, grace)
		if t.Attempt >= attempt && keepalive.Trusted(ttl) >= t.needs() {
			break
		}
		ttl += time.Second
	}
	return ttl
}

// show rounds a duration for people.
func show(d time.Duration) string {
	if d > time.Second {
		d = d.Round(10 * time.Millisecond)
	} else {
		d = d.Round(time.Millisecond)
	}
	return d.String()
}
