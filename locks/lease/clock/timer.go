package clock

import (
	"sync"
	"time"
)

// near is how much may be left of the time when an alarm is set for all of it.
const near = time.Second / 2

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
	early bool // alarms go off earlier, because they may be late
	fired chan struct{}

	mu      sync.Mutex
	alarm   Alarm       // nil: the Timer looks at its clock
	next    *time.Timer // the next look
	stopped bool
}

// NewTimer starts a timer for the given moment, which may have passed. It does not block.
func NewTimer(c Clock, at Instant) *Timer { return start(c, at, true) }

// NewPause is like NewTimer, for a moment at which nothing is in danger: the timer may be late by
// a tenth if the clocks of the kernel are slewed, and wakes the machine once.
func NewPause(c Clock, at Instant) *Timer { return start(c, at, false) }

func start(c Clock, at Instant, early bool) *Timer {
	t := &Timer{clock: c, at: at, early: early, fired: make(chan struct{})}
	t.C = t.fired
	if at == Never {
		return t
	}
	if t.alarm = t.newAlarm(c.Now()); t.alarm == nil {
		t.look()
	} else {
		go t.await(t.alarm)
	}
	return t
}

// newAlarm starts an alarm, or returns nil. An alarm for a moment that is near cannot be much too
// late.
func (t *Timer) newAlarm(now Instant) Alarm {
	w, ok := t.clock.(Waker)
	left := t.at.Sub(now)
	switch {
	case !ok || left <= 0:
		return nil
	case t.early && left > near:
		return w.Alarm(t.at.Add(-left / 10))
	}
	return w.Alarm(t.at)
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

// await waits for the alarm, and for another one if the moment has not come. If that fails, the
// Timer looks at its clock from now on: only the clock says whether the moment has come.
func (t *Timer) await(a Alarm) {
	for a != nil {
		before := t.at.Sub(t.clock.Now())
		a.Wait()
		a = t.again(before)
	}
	t.look()
}

// again returns another alarm for the rest of the time, or nil.
func (t *Timer) again(before time.Duration) Alarm {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	if left := t.at.Sub(now); t.stopped || left < soonest || left > before/2 {
		return nil
	}
	t.alarm = t.newAlarm(now)
	return t.alarm
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
