package votes

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// Models know the true time, in nanoseconds; no voter and no candidate does.

const lease = 10 * time.Second

// A rate is a boot clock that starts anywhere and runs wrongly.
type rate struct{ offset, ppm int64 }

func (r rate) at(t int64) clock.Instant { return clock.Instant(r.offset + wrong(t, r.ppm)) }

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

// wrong returns what a clock counts in a time.
func wrong(d, ppm int64) int64 { return d + d*ppm/1_000_000 }

// A kernel has the clocks of a host, between two changes of their rates.
type kernel struct {
	since     int64 // the last change
	raw, mono int64 // CLOCK_MONOTONIC_RAW and CLOCK_MONOTONIC then
	slept     int64 // by this CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC
	ppm, slew int64 // by how much the first two are wrong
	asleep    bool
}

// at returns the clocks at a moment.
func (k kernel) at(t int64) kernel {
	d := t - k.since
	if k.since = t; k.asleep {
		k.slept += wrong(d, k.ppm)
	} else {
		k.raw += wrong(d, k.ppm)
		k.mono += wrong(d, k.slew)
	}
	return k
}

// steady counts as package clock does.
func steady(k kernel) int64 { return k.raw + k.slept }

// boottime counts as CLOCK_BOOTTIME does.
func boottime(k kernel) int64 { return k.mono + k.slept }

// awake counts as CLOCK_MONOTONIC_RAW does.
func awake(k kernel) int64 { return k.raw }

// A reader reads the clock of a host for one process. It may be ahead by some of delta, which
// changes when the host resumes.
type reader struct {
	host  *host
	ahead int64
}

func (r *reader) at(t int64) clock.Instant {
	return clock.Instant(r.host.count(r.host.kernel.at(t)) + r.ahead)
}

// leads reports whether a candidate believes at a moment that it leads.
func leads(c *Candidate, now clock.Instant) bool {
	_, _, ok := c.Lease(now)
	return ok
}
