package clock

import (
	"sync"
	"time"
)

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

// A Timer fires once, when a clock has reached a moment.
type Timer struct {
	C <-chan struct{} // closed when the Timer fires

	clock Clock
	at    Instant
	fired chan struct{}
	alarm Alarm // nil: the Timer looks at its clock

	mu      sync.Mutex
	next    *time.Timer // the next look
	stopped bool
}

// NewTimer starts a timer for the given moment, which may have passed. It does not block.
func NewTimer(c Clock, at Instant) *Timer {
	t := &Timer{clock: c, at: at, fired: make(chan struct{})}
	t.C = t.fired
	if at == Never {
		return t
	}
	if w, ok := c.(Waker); ok && c.Now() < at {
		t.alarm = w.Alarm(at)
	}
	if t.alarm == nil {
		t.look()
	} else {
		go t.await()
	}
	return t
}

// Stop ends the timer. C is not closed after that. Stop does not block.
func (t *Timer) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	if t.next != nil {
		t.next.Stop()
	}
	if t.alarm != nil {
		t.alarm.Stop()
	}
}

// await waits for the alarm. If that fails, the Timer looks at its clock from now on: only
// the clock says whether the moment has come.
func (t *Timer) await() {
	t.alarm.Wait()
	t.look()
}

// look fires if the moment has come. Otherwise it arranges the next look.
func (t *Timer) look() {
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
	t.next = time.AfterFunc(recheck(left), t.look)
}
