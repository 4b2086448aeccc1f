// Package clock reads the boot clock, which runs at a steady rate through suspend and is
// not affected by setting the date. Go's time.Now stops while a Linux machine is
// suspended (golang/go#24595), but a lease does not.
package clock

import (
	"math"
	"sync"
	"time"
)

// An Instant is a moment on this machine's boot clock, in nanoseconds from an arbitrary
// start. It means nothing on another machine or after a reboot. The zero Instant is
// before every reading.
type Instant int64

// Never is a moment that does not come. Do not add to it.
const Never Instant = math.MaxInt64

// Add returns the moment that is d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i - j) }

// A Clock returns the present moment.
type Clock interface{ Now() Instant }

// Boot is the machine's boot clock: CLOCK_BOOTTIME on Linux, CLOCK_MONOTONIC on macOS
// (where it runs during sleep) and the BSDs, the interrupt time on Windows.
type Boot struct{}

// Now reads the clock. It panics if the system has no such clock.
func (Boot) Now() Instant { return bootNow() }

// Bubble is a clock for a bubble of testing/synctest, where package time simulates time.
// Outside of a bubble it would stop in suspend.
type Bubble struct{}

// Now returns time.Now as an Instant.
func (Bubble) Now() Instant { return Instant(time.Now().UnixNano()) }

// The bounds of how long a Timer waits before it reads its clock again.
const (
	soonest = 10 * time.Millisecond
	latest  = time.Second
)

// recheck returns how late a Timer may notice that the machine was suspended: an eighth
// of the time left. This is less than the margins at the end of a lease, which are two
// fifteenths of a lease shorter than 15 s.
func recheck(left time.Duration) time.Duration {
	return min(left, latest, max(left/8, soonest))
}

// A Timer fires once, when a clock has reached a moment. It reads that clock at least
// once a second, and more often when the moment is near, because Go's own timers stop in
// suspend.
type Timer struct {
	C <-chan struct{} // closed when the Timer fires

	clock Clock
	at    Instant
	fired chan struct{}

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

// NewTimer starts a timer for the given moment, which may have passed.
func NewTimer(c Clock, at Instant) *Timer {
	t := &Timer{clock: c, at: at, fired: make(chan struct{})}
	t.C = t.fired
	if at != Never {
		t.check()
	}
	return t
}

// Stop ends the timer. C is not closed after that.
func (t *Timer) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	if t.timer != nil {
		t.timer.Stop()
	}
}

func (t *Timer) check() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return
	}
	left := t.at.Sub(t.clock.Now())
	if left <= 0 {
		t.stopped = true
		close(t.fired)
		return
	}
	t.timer = time.AfterFunc(recheck(left), t.check)
}
