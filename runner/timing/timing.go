// Package timing computes when to renew a lease, and when to signal and to kill the job if
// renewals fail. This is a package of its own because options, doctor and the fault suite
// compute with it, and run no job.
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

// KillAfter is the default of --kill-after. A container's supervisor kills leaderrun, and with it
// the guard, ten seconds after its own signal, by default.
const KillAfter = 8 * time.Second

// A Timing says when to renew, and when to signal and to kill if renewals fail.
type Timing struct {
	TTL     time.Duration // L: as requested
	Renew   time.Duration // R: from one renewal to the next
	Attempt time.Duration // A: time limit of one renewal
	Grace   time.Duration // G: from the signal to the kill, when the lease is about to end
	Margin  time.Duration // J: how late a busy machine may schedule us
	Death   time.Duration // X: from SIGKILL until the last process is gone

	// KillAfter is the time from the signal to the kill, when somebody has asked for the stop.
	// The lease is renewed meanwhile.
	KillAfter time.Duration
}

// New derives a timing from a TTL and --kill-after. The parts scale with the TTL, so that all of
// them fit: at 15 s, R is 3 s, A 2 s, G 5 s, J and X 1 s. J and X are never greater than that, R is
// never greater than 20 s, and A than 10 s. G is a third of the TTL, and at most killAfter.
func New(ttl, killAfter time.Duration) Timing {
	margin := keepalive.Margin(ttl)
	t := Timing{
		TTL:       ttl,
		Renew:     keepalive.Interval(ttl),
		Attempt:   keepalive.Limit(ttl),
		Margin:    margin,
		Death:     margin,
		KillAfter: killAfter,
	}
	return t.For(ttl)
}

// For returns the timing for a lease that the server has granted. If that is shorter than what was
// requested, it is the grace for which less time is left, perhaps none.
func (t Timing) For(granted time.Duration) Timing {
	t.Grace = max(0, min(t.KillAfter, granted/3, keepalive.Trusted(granted)-t.needs()))
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
	return t.Renew + attempts*t.Attempt + t.Margin + t.Death
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

// Gate returns an error if a lease that was granted is too short to renew and to kill in time. One
// as long as the TTL never is.
func (t Timing) Gate(granted time.Duration) error {
	if keepalive.Trusted(granted) >= t.needs() {
		return nil
	}
	unused := granted - granted/1000 - keepalive.Trusted(granted)
	return &locks.UsageError{What: fmt.Sprintf(
		"the lease of %v that the server granted (for --ttl %v) is too short: renewing every %s, %d attempts of %s and margins of %s need %s; use --ttl %s",
		show(granted), show(t.TTL), show(t.Renew), attempts, show(t.Attempt), show(t.Margin+t.Death+unused), show(t.needs()+unused), max(granted.Truncate(time.Second), MinTTL))}
}

// Shortest returns the shortest TTL, in whole seconds, in which an attempt to renew may take at
// least attempt. If no TTL does, it is more than MaxTTL.
func Shortest(attempt time.Duration) time.Duration {
	ttl := MinTTL
	for ttl <= MaxTTL && keepalive.Limit(ttl) < attempt {
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
