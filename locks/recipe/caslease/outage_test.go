package caslease_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestOutage: whose time runs out in an outage knows no holder, unless the last answer is younger
// than a lease. It learns what is wrong. A look is up to 3 s before the outage, and a lease is 10 s.
func TestOutage(t *testing.T) {
	for _, tt := range []struct {
		what  string
		after time.Duration
		want  error
		text  string
	}{
		{"long", 10 * time.Second, locks.ErrUnavailable, "deadline exceeded (Backend Error)"},
		{"short", 54 * time.Second, locks.ErrHeld, "held by a"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				holder := at(t, s, options("a"))
				drive.Hold(t, holder)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, done := drive.Campaign(ctx, t, s.open, "sim://host/p", options("b"))
				for range int(tt.after / (2 * time.Second)) {
					time.Sleep(2 * time.Second)
					drive.Renew(t, holder)
				}
				s.Fault(func(Request) Fault { return Fault{Err: refuse(causes.Unknown, "Backend Error")} })
				err := (<-done).Err
				if !errors.Is(err, tt.want) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("acquire: %v; want %v, and %q", err, tt.want, tt.text)
				}
				if n := verbs(s)["read"]; n > 50 {
					t.Errorf("%d reads in a minute", n)
				}
			})
		})
	}
}

// TestOutageEnds: a waiter looks once more before its time is up, however long the pauses of an
// outage have become. What it heard in the outage counts if that look gets no answer.
func TestOutageEnds(t *testing.T) {
	for _, silent := range []bool{false, true} {
		for range 20 { // the pauses are random
			t.Run("", func(t *testing.T) {
				bubble(t, func(t *testing.T, s *sim) {
					o := options("a")
					o.TTL = time.Hour
					drive.Hold(t, at(t, s, o))
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					_, done := drive.Campaign(ctx, t, s.open, "sim://host/p", options("b"))
					time.Sleep(5 * time.Second)
					s.Fault(func(Request) Fault { return Fault{Err: refuse(causes.Unknown, "Backend Error")} })
					time.Sleep(52 * time.Second)
					want := locks.ErrHeld
					if s.Fault(nil); silent {
						want = locks.ErrUnavailable
						s.Fault(func(Request) Fault { return Fault{Hold: ctx.Done()} })
					}
					if err := (<-done).Err; !errors.Is(err, want) || silent && !strings.Contains(err.Error(), "Backend Error") {
						t.Errorf("acquire: %v; want %v", err, want)
					}
				})
			})
		}
	}
}

// TestShortOutage: after one look that has failed, a waiter looks again within a second.
func TestShortOutage(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		o := options("a")
		o.TTL = time.Hour
		drive.Hold(t, at(t, s, o))
		var failed, again time.Time // of one waiter alone
		reads(t, s, options("b"), 5*time.Second, func(r Request) (f Fault) {
			switch {
			case failed.IsZero():
				failed, f.Err = r.At, refuse(causes.Unknown, "not now")
			case again.IsZero():
				again = r.At
			}
			return f
		})
		if pause := again.Sub(failed); pause <= 0 || pause > 1100*time.Millisecond {
			t.Errorf("a pause of %v", pause)
		}
	})
}

// TestFailuresApart: a write that fails after a long wait is tried again, although one had failed
// before.
func TestFailuresApart(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		writes := 0 // by one campaign alone
		s.Fault(func(r Request) (f Fault) {
			if r.Verb != "create" && r.Verb != "swap" {
				return f
			}
			if writes++; writes == 1 {
				s.SetState(leaseCell, `{"state":"held","nonce":"x.1","ttl_ms":10000,"holder":"c"}`)
			}
			if writes < 3 {
				f.Err = refuse(causes.Unsent, "not now")
			}
			return f
		})
		if _, err := at(t, s, options("a")).Acquire(drive.Context(t), false); err != nil || writes != 3 {
			t.Errorf("after %d writes: %v", writes, err)
		}
	})
}

// TestFirstLookAgain: if the first look has failed for another reason, the next follows soon.
func TestFirstLookAgain(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		s.Next("read", Fault{Err: refuse(causes.Unsent, "not now")})
		start := time.Now()
		if _, err := at(t, s, options("a")).Acquire(drive.Context(t), false); err != nil || time.Since(start) > 400*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// TestNoRoomAtFirst: a run for which there is no room from the beginning reports that in time, but
// does not insist.
func TestNoRoomAtFirst(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		s.Fault(func(Request) Fault { return passing()["throttled"] })
		start := time.Now()
		_, err := at(t, s, options("a")).Acquire(drive.Context(t), false)
		if n := verbs(s)["read"]; err == nil || n != 2 || time.Since(start) > 4*time.Second {
			t.Errorf("after %v and %d reads: %v", time.Since(start), n, err)
		}
	})
}
