package caslease_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// hourAhead is what a proxy that hides, and whose clock is wrong, makes of an answer.
func hourAhead(c *caslease.Cell) {
	c.Date = c.Date.Add(time.Hour)
}

// impatient asks for a lease so short that its end proves nothing about that of
// the holder before.
func impatient() locks.Options {
	o := options("b")
	o.TTL = time.Second
	return o
}

// wantHeld looks without waiting, as one more contender whose answers are right.
func wantHeld(t *testing.T, s *sim, why string) {
	t.Helper()
	s.Fault(nil)
	if g, err := at(t, s, options("c")).Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrHeld) {
		t.Errorf("%s: got %+v, %v; want ErrHeld", why, g, err)
	}
}

// TestWrongDateThenDeath has b take over too early and come no further than its
// one write. What it left must say that the lock is held for as long as a's
// lease may run, though b asked for less.
func TestWrongDateThenDeath(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		o := options("a")
		o.TTL = time.Minute
		drive.Hold(t, at(t, s, o))
		wrote := false
		s.Fault(func(r Request) Fault {
			drop := wrote
			wrote = wrote || r.Verb == "swap"
			return Fault{Drop: drop, Answer: hourAhead}
		})
		b := impatient()
		b.ConnectTimeout = time.Second
		if g, err := at(t, s, b).Acquire(drive.Context(t), true); err == nil {
			t.Fatalf("b has taken over too early: %+v", g)
		}
		s.Age(leaseCell, 10*time.Second)
		wantHeld(t, s, "10 s after b's write, while a's lease of a minute runs")
	})
}

// TestWrongDateAndLostReply has b take over too early, and learn of it so late
// that it has to write again. Its own leftover proves nothing about a's lease.
func TestWrongDateAndLostReply(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		o := options("a")
		o.TTL = time.Minute
		drive.Hold(t, at(t, s, o))
		never, writes := make(chan struct{}), 0
		t.Cleanup(func() { close(never) })
		s.Fault(func(r Request) Fault {
			f := Fault{Answer: hourAhead}
			if r.Verb == "swap" {
				if writes++; writes == 1 {
					f.Hold = never
				}
			}
			return f
		})
		b := at(t, s, impatient())
		for range 2 { // the second campaign finds what the first has left
			_, err := b.Acquire(drive.Context(t), true)
			if held, ok := errors.AsType[*locks.HeldError](err); !ok || held.Status.Holder != "a" {
				t.Fatalf("b has taken over too early: got %v; want that a has it", err)
			}
		}
	})
}

// TestWrongDateIsNotUndone has b take over too early, and be told to give up
// before it knows. To mark the lock as free would let anybody have it at once.
func TestWrongDateIsNotUndone(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		o := options("a")
		o.TTL = time.Minute
		drive.Hold(t, at(t, s, o))
		never := make(chan struct{})
		t.Cleanup(func() { close(never) })
		s.Fault(func(r Request) Fault {
			f := Fault{Answer: hourAhead}
			if r.Verb == "swap" && strings.Contains(r.Value.State, `held`) {
				f.Hold = never
			}
			return f
		})
		ctx, cancel := context.WithCancel(drive.Context(t))
		done := make(chan error, 1)
		b := impatient()
		b.ConnectTimeout = 2 * drive.Patience
		l := at(t, s, b)
		go func() { _, err := l.Acquire(ctx, true); done <- err }()
		drive.Eventually(t, drive.Patience, "b has written", func() bool { return strings.Contains(record(t, s), `"holder":"b"`) })
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v; want context.Canceled", err)
		}
		wantHeld(t, s, "after b has given up, while a's lease runs")
	})
}

// TestFreedBeforeResolved: b's write took effect, its answer was lost, and an
// operator marked the lock as free before b looked. It is not b's any more.
func TestFreedBeforeResolved(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		wrote, freed := false, false
		s.Fault(func(r Request) Fault {
			if wrote && !freed {
				freed = true
				s.SetState(leaseCell, strings.Replace(record(t, s), `"held"`, `"free"`, 1))
			}
			lose := r.Verb == "create"
			wrote = wrote || lose
			return Fault{LoseReply: lose}
		})
		drive.Hold(t, at(t, s, options("b")))
		if got := record(t, s); !strings.Contains(got, `"state":"held"`) {
			t.Errorf("b believes it has the lock; the record is %s", got)
		}
	})
}

// TestWrongDateThenRelease has b try to take over too early and fail. When a
// releases the lock, nothing is in doubt any more.
func TestWrongDateThenRelease(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		o := options("a")
		o.TTL = time.Minute
		a := at(t, s, o)
		drive.Hold(t, a)
		s.Fault(func(r Request) Fault {
			f := Fault{Answer: hourAhead}
			if r.Verb == "swap" {
				f.Err = refuse(caslease.Unknown, "Backend Error")
			}
			return f
		})
		b := impatient()
		b.ConnectTimeout = time.Second
		l := at(t, s, b)
		if _, err := l.Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrUnavailable) {
			t.Fatalf("while no write passes: %v; want ErrUnavailable", err)
		}
		s.Fault(nil)
		drive.Release(t, a)
		drive.Hold(t, l)
	})
}
