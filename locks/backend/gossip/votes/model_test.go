package votes

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A rate is a boot clock that starts anywhere and runs wrongly. Models know the true time,
// in nanoseconds; no voter and no candidate does.
type rate struct{ offset, ppm int64 }

func (r rate) at(t int64) clock.Instant { return clock.Instant(r.offset + t + t*r.ppm/1_000_000) }

// first returns the first moment at which the clock reads i or more.
func (r rate) first(i clock.Instant) int64 {
	t := (int64(i) - r.offset) * 1_000_000 / (1_000_000 + r.ppm)
	for r.at(t) >= i {
		t--
	}
	for r.at(t) < i {
		t++
	}
	return t
}

// leads reports whether a candidate believes at a moment that it leads.
func leads(c *Candidate, now clock.Instant) bool {
	_, _, ok := c.Lease(now)
	return ok
}

const lease = 10 * time.Second
