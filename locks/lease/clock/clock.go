// Package clock reads the boot clock: it runs at a steady rate through
// suspend, and setting the date does not move it. Go's time.Now stops while a
// Linux machine is suspended (golang/go#24595), which a lease does not.
package clock

import (
	"math"
	"sync"
	"time"
)

// An Instant is a moment on the boot clock of this machine, in nanoseconds
// from an arbitrary start. It means nothing on another machine or after a
// reboot. The zero Instant is before every reading.
type Instant int64

// Never is a moment that does not come. Nothing can be added to it.
const Never Instant = math.MaxInt64

// Add returns the moment d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i - j) }

// A Clock tells the time.
type Clock interface{ Now() Instant }

// Boot is the machine's boot clock: CLOCK_BOOTTIME on Linux, CLOCK_MONOTONIC
// on macOS (which runs through sleep there) and the BSDs, the interrupt time
// on Windows.
type Boot struct{}

// Now reads the clock. It panics if the system has none.
func (Boot) Now() Instant { return bootNow() }

// Bubble is a clock for a bubble of testing/synctest, where package time tells a time
// that is simulated. Elsewhere it would stop in suspend.
type Bubble struct{}

// Now is what time.Now tells.
func (Bubble) Now() Instant { return Instant(time.Now().UnixNano()) }

// Bounds of how long a Timer does not look at its clock.
const (
	soonest = 10 * time.Millisecond
	latest  = time.Second
)

// recheck is how late a Timer may notice that the machine was suspended, when so
// much is left: an eighth of it, and so less than the margins at the end of a lease,
// which are two fifteenths of one that is shorter than 15 s.
func recheck(left time.Duration) time.Duration {
	return min(left, latest, max(left/8, soonest))
}

// A Timer fires once, when a clock has reached a moment. It looks at that
// clock at least once a second, and more often when the moment is near, as Go's own
// timers stand still in suspend.
type Timer struct {
	C <-chan struct{} // closed when the moment has come

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

// Stop ends the timer: C is then not closed any more.
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
