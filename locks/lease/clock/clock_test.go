package clock_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A fake clock follows the time of a synctest bubble at its own rate. It can jump, as the
// boot clock seems to when the machine has been suspended.
type fake struct {
	start   time.Time
	percent int64
	jumped  atomic.Int64
}

func newFake(percent int64) *fake { return &fake{start: time.Now(), percent: percent} }

func (f *fake) Now() clock.Instant {
	return clock.Instant(int64(time.Since(f.start))*f.percent/100 + f.jumped.Load())
}

func (f *fake) jump(d time.Duration) { f.jumped.Add(int64(d)) }

func fired(t *clock.Timer) bool {
	synctest.Wait()
	select {
	case <-t.C:
		return true
	default:
		return false
	}
}

func TestTimerFiresAtTheMoment(t *testing.T) {
	for _, after := range []time.Duration{1, time.Millisecond, time.Second - 1, time.Second, time.Second + 1, 2500 * time.Millisecond, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			c := newFake(100)
			start := time.Now()
			timer := clock.NewTimer(c, c.Now().Add(after))
			if fired(timer) {
				t.Errorf("%v: fired at once", after)
			}
			<-timer.C
			if took := time.Since(start); took != after {
				t.Errorf("%v: fired after %v", after, took)
			}
			<-timer.C // it stays closed
		})
	}
}

func TestTimerForThePast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFake(100)
		for _, after := range []time.Duration{0, -1, -time.Hour} {
			if !fired(clock.NewTimer(c, c.Now().Add(after))) {
				t.Errorf("a timer for %v from now did not fire at once", after)
			}
		}
		if !fired(clock.NewTimer(c, 0)) {
			t.Error("a timer for the zero Instant did not fire at once")
		}
	})
}

// TestTimerNoticesSuspend makes the clock jump over the moment, at various times after
// the Timer has read it. Go's own timers do not notice the jump.
func TestTimerNoticesSuspend(t *testing.T) {
	for _, at := range []time.Duration{0, time.Millisecond, 700 * time.Millisecond, time.Second - 1, 90*time.Second + 1} {
		synctest.Test(t, func(t *testing.T) {
			c := newFake(100)
			timer := clock.NewTimer(c, c.Now().Add(time.Hour))
			time.Sleep(at)
			if fired(timer) {
				t.Fatalf("fired after %v", at)
			}
			c.jump(2 * time.Hour)
			jumped := time.Now()
			<-timer.C
			if took := time.Since(jumped); took > time.Second {
				t.Errorf("a jump after %v was noticed %v later; want at most 1s", at, took)
			}
		})
	}
}

// TestTimerNoticesSuspendSoon checks that a timer notices a jump over its moment the
// sooner, the nearer the moment is.
func TestTimerNoticesSuspendSoon(t *testing.T) {
	for _, left := range []time.Duration{100 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			c := newFake(100)
			timer := clock.NewTimer(c, c.Now().Add(left))
			time.Sleep(time.Nanosecond) // until the timer has just read the clock
			c.jump(left - 2)
			jumped := time.Now()
			<-timer.C
			if took, most := time.Since(jumped), max(left/8, 10*time.Millisecond); took > most {
				t.Errorf("with %v left, a jump was noticed %v later; want at most %v", left, took, most)
			}
		})
	}
}

// TestTimerAfterJumpShort makes the jump end before the moment. The Timer must wait only
// for the time that is left after the jump.
func TestTimerAfterJumpShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFake(100)
		timer := clock.NewTimer(c, c.Now().Add(time.Hour))
		c.jump(time.Hour - 10*time.Second)
		start := time.Now()
		<-timer.C
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("fired %v after the jump; want 10s", took)
		}
	})
}

// TestTimerOnAnotherRate checks that a Timer fires by its clock, not by Go's, and never
// early.
func TestTimerOnAnotherRate(t *testing.T) {
	for _, percent := range []int64{50, 90, 99, 101, 110, 200} {
		synctest.Test(t, func(t *testing.T) {
			c := newFake(percent)
			at := c.Now().Add(10 * time.Second)
			<-clock.NewTimer(c, at).C
			if late := c.Now().Sub(at); late < 0 || late > 2*time.Second {
				t.Errorf("rate %d%%: fired %v late", percent, late)
			}
		})
	}
}

func TestTimerStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFake(100)
		timer := clock.NewTimer(c, c.Now().Add(10*time.Second))
		time.Sleep(3500 * time.Millisecond)
		timer.Stop()
		timer.Stop()
		time.Sleep(time.Minute)
		if fired(timer) {
			t.Error("fired after Stop")
		}

		timer = clock.NewTimer(c, c.Now())
		timer.Stop()
		if !fired(timer) {
			t.Error("C is open after the timer fired and was stopped")
		}
	})
}

// TestTimerZero checks that the zero Timer never fires, and may be stopped.
func TestTimerZero(t *testing.T) {
	var timer clock.Timer
	timer.Stop()
	select {
	case <-timer.C:
		t.Error("fired")
	default:
	}
}

// TestTimerStopRaces stops timers at the moment when they fire, for the race detector.
func TestTimerStopRaces(t *testing.T) {
	var wg sync.WaitGroup
	for range 200 {
		timer := clock.NewTimer(clock.Boot{}, clock.Boot{}.Now().Add(time.Millisecond))
		wg.Go(func() { time.Sleep(time.Millisecond); timer.Stop() })
		wg.Go(func() {
			select {
			case <-timer.C:
			case <-time.After(5 * time.Millisecond):
			}
		})
	}
	wg.Wait()
}

func TestInstant(t *testing.T) {
	var i clock.Instant = 1000
	if got := i.Add(time.Second).Sub(i); got != time.Second {
		t.Errorf("a second later is %v later", got)
	}
	if got := i.Sub(i.Add(time.Second)); got != -time.Second {
		t.Errorf("a second earlier is %v later", got)
	}
}

func TestBootAdvances(t *testing.T) {
	start, go0 := clock.Boot{}.Now(), time.Now()
	if start <= 0 {
		t.Errorf("the clock reads %d, which is not after the zero Instant", start)
	}
	last := start
	for range 100_000 {
		now := clock.Boot{}.Now()
		if now < last {
			t.Fatalf("the clock went back by %v", last.Sub(now))
		}
		last = now
	}
	<-clock.NewTimer(clock.Boot{}, clock.Boot{}.Now().Add(50*time.Millisecond)).C
	// The two clocks differ in their rate, and by what passed between their
	// readings.
	got, want := clock.Boot{}.Now().Sub(start), time.Since(go0)
	if diff := got - want; diff < -time.Millisecond || diff > time.Second {
		t.Errorf("the clock advanced by %v in %v", got, want)
	}
}

// Add stays in range, so that a limit of centuries has no end.
func TestAddSaturates(t *testing.T) {
	t.Parallel()
	const huge = time.Duration(1<<63 - 1)
	now := clock.Boot{}.Now()
	for _, tt := range []struct{ got, want clock.Instant }{
		{now.Add(huge), clock.Never - 1},
		{now.Add(huge - time.Duration(now)), clock.Never},
		{clock.Instant(-5).Add(-huge), -1 << 63},
		{now.Add(-time.Second).Add(time.Second), now},
	} {
		if tt.got != tt.want {
			t.Errorf("got %d, want %d", tt.got, tt.want)
		}
	}
}

// A slewed clock is a Waker whose alarms run at another rate, in percent.
type slewed struct {
	*fake
	rate   int64
	alarms int
}

func (s *slewed) Alarm(at clock.Instant) clock.Alarm {
	s.alarms++
	return alarm{time.NewTimer(at.Sub(s.Now()) * 100 / time.Duration(s.rate)), make(chan struct{})}
}

type alarm struct {
	timer *time.Timer
	stop  chan struct{}
}

func (a alarm) Stop() { close(a.stop) }

func (a alarm) Wait() {
	select {
	case <-a.timer.C:
	case <-a.stop:
	}
}

// TestSlewedAlarms: the kernel's timers run a tenth too slowly, or too fast. A Timer fires at its
// moment nevertheless, with few alarms. A pause needs one, and may be late by a tenth.
func TestSlewedAlarms(t *testing.T) {
	for _, rate := range []int64{91, 100, 110} {
		for _, left := range []time.Duration{400 * time.Millisecond, 3 * time.Second, 13 * time.Second, time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				c := &slewed{fake: newFake(100), rate: rate}
				at := c.Now().Add(left)
				<-clock.NewTimer(c, at).C
				if late := c.Now().Sub(at); late < 0 || late > 50*time.Millisecond || c.alarms > 9 {
					t.Errorf("rate %d %%, %v left: late by %v after %d alarms", rate, left, late, c.alarms)
				}
				c.alarms, at = 0, c.Now().Add(left)
				<-clock.NewPause(c, at).C
				if late := c.Now().Sub(at); late < 0 || late > left/10 || rate <= 100 && c.alarms != 1 {
					t.Errorf("rate %d %%, a pause of %v: late by %v after %d alarms", rate, left, late, c.alarms)
				}
				stopped := clock.NewTimer(c, c.Now().Add(left))
				stopped.Stop()
			})
		}
	}
}
