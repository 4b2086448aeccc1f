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
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// hourAhead changes an answer as an invisible proxy does whose clock is an hour ahead.
func hourAhead(c *caslease.Cell) {
	c.Date = c.Date.Add(time.Hour)
}

// impatient returns options with a lease so short that its end proves nothing about the end of the
// previous holder's.
func impatient() locks.Options {
	o := options("b")
	o.TTL = time.Second
	return o
}

// wantHeld tries to acquire, as another contender whose answers are right.
func wantHeld(t *testing.T, s *sim, why string) {
	t.Helper()
	s.Fault(nil)
	if g, err := at(t, s, options("c")).Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrHeld) {
		t.Errorf("%s: got %+v, %v; want ErrHeld", why, g, err)
	}
}

// TestWrongDateThenDeath: b takes over too early, and dies after its first write. The state that it
// left must hold the lock for as long as a's lease may last, though b asked for less.
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

// TestWrongDateAndLostReply: b takes over too early, and learns the outcome so late that it has to
// write again. What its first write left proves nothing about a's lease.
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
		for range 2 { // the second campaign finds what the first one left
			_, err := b.Acquire(drive.Context(t), true)
			if held, ok := errors.AsType[*locks.HeldError](err); !ok || held.Status.Holder != "a" {
				t.Fatalf("b has taken over too early: got %v; want that a has it", err)
			}
		}
	})
}

// TestWrongDateIsNotUndone: b takes over too early, and gives up before it knows that. If it marked
// the lock as free, anybody could take it at once.
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
		drive.Eventually(t, drive.Patience, "b has written", func() bool { return strings.Contains(stateOf(t, s), `"holder":"b"`) })
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v; want context.Canceled", err)
		}
		wantHeld(t, s, "after b has given up, while a's lease runs")
	})
}

// TestFreedBeforeResolved: b's write took effect, its answer was lost, and an operator marked the
// lock as free before b read the cell. The lock is no longer b's.
func TestFreedBeforeResolved(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		wrote, freed := false, false
		s.Fault(func(r Request) Fault {
			if wrote && !freed {
				freed = true
				s.SetState(leaseCell, strings.Replace(stateOf(t, s), `"held"`, `"free"`, 1))
			}
			lose := r.Verb == "create"
			wrote = wrote || lose
			return Fault{LoseReply: lose}
		})
		drive.Hold(t, at(t, s, options("b")))
		if got := stateOf(t, s); !strings.Contains(got, `"state":"held"`) {
			t.Errorf("b believes it has the lock; the state is %s", got)
		}
	})
}

// TestWrongDateThenRelease: b tries to take over too early and fails. After a releases the lock,
// nothing is in doubt.
func TestWrongDateThenRelease(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		o := options("a")
		o.TTL = time.Minute
		a := at(t, s, o)
		drive.Hold(t, a)
		s.Fault(func(r Request) Fault {
			f := Fault{Answer: hourAhead}
			if r.Verb == "swap" {
				f.Err = refuse(causes.Unknown, "Backend Error")
			}
			return f
		})
		b := impatient()
		b.ConnectTimeout = time.Second
		l := at(t, s, b)
		if _, err := l.Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrUnavailable) {
			t.Fatalf("while no write arrives: %v; want ErrUnavailable", err)
		}
		s.Fault(nil)
		drive.Release(t, a)
		drive.Hold(t, l)
	})
}
