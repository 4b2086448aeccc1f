// Package clock reads the boot clock, which runs at a steady rate through suspend and is
// not affected by setting the date, nor on Linux by a slow correction of it. Go's time.Now
// stops while a Linux machine is suspended (golang/go#24595), but a lease does not.
//
// # Timers
//
// A [Timer] must not be late, because at some moments a job has to be killed. How it waits
// depends on its clock and on the system:
//
//   - On Linux, a Timer on [Boot] has a timer of the kernel, which runs through suspend. It
//     fires at its moment, or when the machine resumes if the moment passed in suspend. The
//     kernel's timer may be slewed, and so late by a tenth: so it goes off earlier, and is set
//     again for the rest.
//   - All others look at their clock: other clocks, other systems, and on Linux when the
//     process can open no more files. They fire at their moment too, but a moment that
//     passed in suspend is noticed later: an eighth of the time that was left before the
//     suspend, at most a second, counted from the resume.
//
// The end of a lease and the moments to signal and to kill a job before it have margins for
// the second case; see package timing. A renewal needs none: one that a suspend has delayed
// never extends the time for which a lease is trusted.
package clock

import (
	"math"
	"time"
)

// An Instant is a moment on this machine's boot clock, in nanoseconds from an arbitrary
// start. It means nothing on another machine or after a reboot. The zero Instant is
// before every reading.
type Instant int64

// Never is a moment that does not come. Do not add to it.
const Never Instant = math.MaxInt64

// Add returns the moment that is d later. Where that is out of range, some 292 years from the
// start, it returns the last moment before Never, or the first.
func (i Instant) Add(d time.Duration) Instant {
	sum := i + Instant(d)
	switch {
	case d > 0 && sum < i:
		return Never - 1
	case d < 0 && sum > i:
		return math.MinInt64
	}
	return sum
}

// Sub returns the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i - j) }

// A Clock returns the present moment.
type Clock interface{ Now() Instant }

// A Waker is a Clock with timers of its own. Then a [Timer] does not look at it.
type Waker interface {
	Clock
	// Alarm starts a timer for a moment that is after Now. It returns nil if there is none
	// left. It does not block. The timer may be early or late by a tenth of the time left.
	Alarm(at Instant) Alarm
}

// An Alarm is a timer of a Waker.
type Alarm interface {
	// Wait returns at the moment, also if that was in suspend. It returns earlier after Stop,
	// or if it fails. It must be called once, and frees the Alarm.
	Wait()
	// Stop ends Wait. It does not block.
	Stop()
}

// Boot is the machine's boot clock: on Linux CLOCK_MONOTONIC_RAW and the time in suspend,
// CLOCK_MONOTONIC on macOS (where it runs during sleep) and the BSDs. It is a Waker.
type Boot struct{}

// Now reads the clock. It panics if the system has no such clock.
func (Boot) Now() Instant { return bootNow() }

// Bubble is a clock for a bubble of testing/synctest, where package time simulates time.
// Outside of a bubble it would stop in suspend.
type Bubble struct{}

// Now returns time.Now as an Instant.
func (Bubble) Now() Instant { return Instant(time.Now().UnixNano()) }
