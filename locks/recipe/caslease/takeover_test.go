package caslease_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// TestLongDeadHolder: a run that does not wait gets the lock of a holder that died long ago, at
// the first look.
func TestLongDeadHolder(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		first := drive.Hold(t, at(t, s, options("a")))
		b := at(t, s, options("b"))
		if _, err := b.Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrHeld) {
			t.Fatalf("while the lease runs: %v", err)
		}
		s.Age(leaseCell, 12*time.Second)
		verbs(s)
		g := drive.Hold(t, b)
		if got := verbs(s); got["read"] != 1 || got["swap"] != 1 {
			t.Errorf("requests: %v", got)
		}
		if g.Clean || g.Token <= first.Token {
			t.Errorf("granted %+v after %+v", g, first)
		}
	})
}

// TestDateNotTrusted: an answer that was cached, or has no Date, proves nothing. The lock can be
// taken when its cell has not changed for a whole lease.
func TestDateNotTrusted(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*caslease.Cell){
		"absent":  func(c *caslease.Cell) { c.Date = time.Time{} },
		"earlier": func(c *caslease.Cell) { c.Date = c.Date.Add(-24 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				o := options("a")
				o.TTL = 2 * time.Second
				drive.Hold(t, at(t, s, o))
				s.Age(leaseCell, time.Hour)
				s.Fault(func(Request) Fault { return Fault{Answer: change} })
				b := at(t, s, options("b"))
				if _, err := b.Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrHeld) {
					t.Fatalf("at the first look: %v; want ErrHeld", err)
				}
				start := time.Now()
				if _, err := b.Acquire(drive.Context(t), false); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took < o.TTL {
					t.Errorf("the lock was granted after %v, by a clock that cannot be trusted", took)
				}
			})
		})
	}
}

// TestWrongDate: an invisible proxy writes a Date that is an hour ahead. The cell's own stamps
// show that. A run that does not wait is told that the lock is held, and a third run that gets
// the same Date does not get the lock either.
func TestWrongDate(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		o := options("a")
		o.TTL = time.Minute
		a := at(t, s, o)
		drive.Hold(t, a)
		s.Fault(func(Request) Fault { return Fault{Answer: hourAhead} })
		b := at(t, s, impatient())
		for range 2 {
			_, err := b.Acquire(drive.Context(t), true)
			if held, ok := errors.AsType[*locks.HeldError](err); !ok || held.Status.Holder != "a" {
				t.Fatalf("b has taken over too early: got %v; want that a has it", err)
			}
		}
		if err := renew(t, a); !errors.Is(err, locks.ErrLost) {
			t.Errorf("a renews: %v", err)
		}
		if _, err := at(t, s, options("c")).Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrHeld) {
			t.Errorf("c: %v; want ErrHeld", err)
		}
	})
}

// TestWrongDateWaits: a waiter that gets such a Date gets the lock when the rest of the lease is
// over. Its next renewal writes its own ttl.
func TestWrongDateWaits(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		o := options("a")
		o.TTL = 4 * time.Second
		start := time.Now()
		drive.Hold(t, at(t, s, o))
		s.Fault(func(Request) Fault { return Fault{Answer: hourAhead} })
		for _, l := range []locks.Lock{at(t, s, options("c")), at(t, s, impatient())} {
			if _, err := l.Acquire(drive.Context(t), false); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took < o.TTL {
				t.Errorf("b got the lock %v after a did, whose lease was %v", took, o.TTL)
			}
			drive.Release(t, l)
		}
	})
}

// TestConfirmIsReportedOnce: while a waiter sees that a lease has ended, which its next looks must
// confirm, it reports its holder once.
func TestConfirmIsReportedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSim(caslease.ByClock)
		o := options("a")
		o.TTL = time.Minute
		drive.Hold(t, at(t, s, o))
		s.Age(leaseCell, time.Hour)
		o.Holder = "b"
		var reports []locks.Waiting
		o.Waiting = func(w locks.Waiting) { reports = append(reports, w) }
		if _, err := at(t, s, o).Acquire(drive.Context(t), false); err != nil {
			t.Fatal(err)
		}
		if len(reports) != 1 || reports[0].Status.Confirm == 0 || verbs(s)["read"] < 4 {
			t.Errorf("reported %+v", reports)
		}
	})
}

// TestTTLAfterTakeover: the state of a takeover may have the ttl of the lease before. From the
// first renewal on it has our own.
func TestTTLAfterTakeover(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		o := options("a")
		o.TTL = time.Hour
		drive.Hold(t, at(t, s, o))
		s.Age(leaseCell, 2*time.Hour)
		b := at(t, s, options("b"))
		if g := drive.Hold(t, b); g.TTL != 10*time.Second {
			t.Errorf("granted %+v; want a lease of 10s", g)
		}
		if got := stateOf(t, s); !strings.Contains(got, `"ttl_ms":3600000,`) {
			t.Errorf("after the takeover the state is %s; want a's ttl", got)
		}
		if err := renew(t, b); err != nil {
			t.Fatal(err)
		}
		if got := stateOf(t, s); !strings.Contains(got, `"ttl_ms":10000,`) {
			t.Errorf("after a renewal the state is %s; want b's ttl", got)
		}
	})
}

// TestHandOver: five runs wait for a lock that is released several times. Waiters only read.
func TestHandOver(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		const waiters, rounds = 5, 11
		var took []time.Duration
		for range rounds {
			o := options("holder")
			o.TTL = 15 * time.Second
			a := at(t, s, o)
			drive.Hold(t, a)
			ctx, cancel := context.WithCancel(drive.Context(t))
			won := make(chan locks.Lock, waiters)
			done := make(chan struct{}, waiters)
			waiting := make(chan struct{}, waiters)
			for range waiters {
				o.Holder = "waiter"
				o.Waiting = func(locks.Waiting) { waiting <- struct{}{} }
				l := at(t, s, o)
				go func() {
					defer func() { done <- struct{}{} }()
					if _, err := l.Acquire(ctx, false); err == nil {
						won <- l
					}
				}()
			}
			for range waiters {
				<-waiting
			}
			verbs(s)
			drive.Release(t, a)
			start := time.Now()
			winner := <-won
			took = append(took, time.Since(start))
			if n := verbs(s); n["swap"] > 1+waiters || n["create"] > 0 {
				t.Errorf("requests during a hand-over: %v", n)
			}
			cancel()
			for range waiters {
				<-done
			}
			drive.Release(t, winner)
		}
		slices.Sort(took)
		t.Logf("from release to grant with %d waiters: median %v, longest %v", waiters, took[rounds/2], took[rounds-1])
		if took[rounds/2] > time.Second {
			t.Errorf("the median hand-over took %v", took[rounds/2])
		}
	})
}
