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
