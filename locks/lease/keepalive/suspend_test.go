package keepalive_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// TestSuspend: Go's timers stop in suspend. If the lease has ended meanwhile, that is
// noticed within a second, and nothing more is renewed.
func TestSuspend(t *testing.T) {
	for _, at := range []float64{0.1, 2.95, 3.05, 4.2, 5.9} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.server.lax = true
				l := r.hold()
				asleep := seconds(at)[0]
				r.until(asleep)
				renewed := len(r.renewals)
				r.suspend(time.Hour)
				<-l.Done()
				if late := time.Since(r.start) - asleep; late > time.Second {
					t.Errorf("noticed after %v", late)
				}
				r.is(l.Err(), keepalive.ErrExpired)
				r.wait(time.Minute)
				if got := len(r.calls) - 1; got != renewed {
					t.Errorf("got %d renewals, want %d: none after the expiry", got, renewed)
				}
			})
		})
	}
}

// TestNoRenewalAfterExpiry: a renewal that comes due in suspend is not sent if the lease
// has ended, even if the timer of the renewal is the first to fire.
func TestNoRenewalAfterExpiry(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.server.lax = true
		r.o.Interval = 3300 * time.Millisecond
		l := r.hold()
		r.until(3100 * time.Millisecond)
		r.suspend(20 * time.Second)
		<-l.Done()
		r.between(r.now(), 23100*time.Millisecond, 23300*time.Millisecond)
		r.is(l.Err(), keepalive.ErrExpired)
		r.did("renew")
	})
}

// TestAnswerSeenAfterSuspend: an acknowledgement that was under way during suspend is too
// late, even if it is seen before the expiry.
func TestAnswerSeenAfterSuspend(t *testing.T) {
	for name, answer := range map[string]error{"success": nil, "error": errDown} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.server.lax = true
				r.renew = func(int) step { return step{back: 200 * time.Millisecond, err: answer} }
				l := r.hold()
				r.until(3100 * time.Millisecond)
				r.suspend(20 * time.Second)
				r.ends(l, 23200*time.Millisecond, keepalive.ErrExpired)
				r.deadline(l, r.e(0))
				if got := r.renewals[0].Err; !errors.Is(got, keepalive.ErrExpired) {
					t.Errorf("Renewed got %v, want %v", got, keepalive.ErrExpired)
				}
			})
		})
	}
}

// lastRenewal returns when Renew was last called.
func (r *rig) lastRenewal() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range slices.Backward(r.calls) {
		if c.op == "renew" {
			return c.at
		}
	}
	return 0
}

// between checks a time a moment after a suspend, because timers read the clock only now
// and then.
func (r *rig) between(at, from, to time.Duration) {
	r.t.Helper()
	if at < from || at > to {
		r.t.Errorf("it happened after %v, want between %v and %v", at, from, to)
	}
}

// TestShortSuspend: a suspend that leaves enough of the lease has no effect: the renewal
// follows within a second.
func TestShortSuspend(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		l := r.hold()
		r.until(3500 * time.Millisecond)
		r.suspend(13 * time.Second) // until 16.5 s; E is 17.985 s
		r.until(5 * time.Second)
		r.lives(l)
		again := r.lastRenewal()
		r.between(again, 16500*time.Millisecond, 17*time.Second)
		r.deadline(l, r.e(again))
	})
}

// TestSuspendWhileWaiting: after a suspend in the queue a renewal follows at once.
func TestSuspendWhileWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.acquire = r.after(5500 * time.Millisecond)
		time.AfterFunc(5200*time.Millisecond, func() { r.suspend(10 * time.Second) })
		l := r.hold()
		again := r.lastRenewal()
		r.between(again, 15200*time.Millisecond, 15500*time.Millisecond)
		r.deadline(l, r.e(again))
	})
}

// TestClockRate: timers follow the boot clock even if Go's clock runs at another rate.
// The term ends at E on the boot clock, late by no more than the rates differ in the
// second between two readings.
func TestClockRate(t *testing.T) {
	for _, ppm := range []int64{-100_000, -500, 0, 500, 100_000} {
		t.Run(fmt.Sprint(ppm), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.boot.ppm = ppm
				start := r.boot.Now()
				r.renew = func(n int) step {
					if n == 1 {
						return step{}
					}
					return silence
				}
				l := r.hold()
				<-l.Done()
				e, _ := l.Deadline()
				slack := time.Second * time.Duration(max(ppm, 0)) / 1e6
				const rounding = time.Microsecond
				if sent := e.Add(-trusted).Sub(start) - interval; sent < 0 || sent > slack+rounding {
					t.Errorf("the first renewal was sent %v late", sent)
				}
				if late := r.boot.Now().Sub(e); late < 0 || late > slack+rounding {
					t.Errorf("the term ended %v late", late)
				}
			})
		})
	}
}
