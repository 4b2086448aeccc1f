package keepalive

import "time"

// The pace of a lease follows from its ttl alone, so that others can judge a holder by it. At
// 15 s renewals are 3 s apart, an attempt has 2 s, and the margins are 1 s each. The margins
// are never greater; they shrink with a shorter lease.

// fullTTL is the shortest lease with margins of full size.
const fullTTL = 15 * time.Second

// Interval returns R, the time from one renewal to the next.
func Interval(ttl time.Duration) time.Duration { return min(ttl/5, 20*time.Second) }

// Limit returns A, the time limit of one renewal.
func Limit(ttl time.Duration) time.Duration { return min(ttl*2/15, 10*time.Second) }

// Margin returns J, how late a busy machine may schedule us, and X, the time from SIGKILL until
// the last process is gone. They are equal.
func Margin(ttl time.Duration) time.Duration { return min(ttl, fullTTL) / 15 }

// Silence returns W = R + 2A + J, at most 41 s: how long a healthy holder, of which one attempt
// to renew has failed, may not be heard of.
func Silence(ttl time.Duration) time.Duration { return Interval(ttl) + 2*Limit(ttl) + Margin(ttl) }
