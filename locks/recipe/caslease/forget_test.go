package caslease_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

func forget(t *testing.T, l locks.Lock) error {
	t.Helper()
	return l.(locks.Forgetter).Forget(drive.Context(t))
}

// TestForget: Forget deletes the cells of the lock and no others, and succeeds if there are none.
// Tokens rise nevertheless.
func TestForget(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		w := at(t, s, options("operator"))
		s.SetState(leaseCell+"2", "x")
		s.SetState("p|0|jobs", "x")
		var last uint64
		for _, end := range []string{"released", "broken", "dead"} {
			a := at(t, s, options("a"))
			g := drive.Hold(t, a)
			if g.Token <= last {
				t.Errorf("the token %d after %d", g.Token, last)
			}
			last = g.Token
			if err := a.(locks.Asker).Ask(drive.Context(t), g.Token, []byte("x")); err != nil {
				t.Fatal(err)
			}
			switch end {
			case "released":
				drive.Release(t, a)
			case "broken":
				if err := breaks(t, w, g.Token); err != nil {
					t.Fatal(err)
				}
			case "dead":
				s.Age(leaseCell, time.Hour)
			}
			for range 2 {
				if err := forget(t, w); err != nil {
					t.Errorf("%s: %v", end, err)
				}
				if all := s.under("p|"); len(all) != 2 {
					t.Errorf("%s: left: %+v", end, all)
				}
			}
		}
	})
}

// TestForgetAsItWasRead: what is deleted is what was read, so there is one read and one deletion.
func TestForgetAsItWasRead(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		a := at(t, s, options("a"))
		drive.Hold(t, a)
		drive.Release(t, a)
		verbs(s)
		if err := forget(t, at(t, s, options("operator"))); err != nil {
			t.Error(err)
		}
		if got, want := verbs(s), map[string]int{"read": 1, "delete": 1, "ask read": 1}; !maps.Equal(got, want) {
			t.Errorf("requests: %v; want %v", got, want)
		}
	})
}

// TestForgetHeld: Forget deletes neither a lock that is held nor a cell that is not a lock.
func TestForgetHeld(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		a := at(t, s, options("a"))
		g := drive.Hold(t, a)
		for _, l := range []locks.Lock{a, at(t, s, options("operator"))} {
			err := forget(t, l)
			if h, ok := errors.AsType[*locks.HeldError](err); !ok || h.Status.Token != g.Token {
				t.Errorf("got %v", err)
			}
		}
		drive.Renew(t, a)
		if n := verbs(s)["swap"]; n != 1 {
			t.Errorf("the cell was changed %d times", n)
		}
		drive.Release(t, a)
		s.SetState(leaseCell, "?")
		if err := forget(t, a); !errors.Is(err, locks.ErrUsage) {
			t.Errorf("a cell that is not a lock: %v", err)
		}
		if _, ok := s.Cell(leaseCell); !ok {
			t.Error("a cell that is not a lock was deleted")
		}
	})
}

// TestForgetClockBehind: a lock is kept while the store's clock is behind its tokens, whether it was
// released or its holder is gone, and becomes free.
func TestForgetClockBehind(t *testing.T) {
	t.Parallel()
	for _, released := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newSim(caslease.ByClock)
			a := at(t, s, options("a"))
			last := drive.Hold(t, a).Token
			if released {
				drive.Release(t, a)
			} else {
				s.Age(leaseCell, 3*time.Hour)
			}
			for _, clock := range []func() time.Time{
				func() time.Time { return time.Now().Add(-time.Hour) },
				func() time.Time { return time.UnixMicro(int64(last)) }, // the next token would be that of the last change
			} {
				s.clock = clock
				err := forget(t, at(t, s, options("operator")))
				if e, ok := errors.AsType[*locks.Error](err); !ok || !errors.Is(err, locks.ErrUnavailable) || e.Hint != "set the server's clock" {
					t.Errorf("released %t: got %v", released, err)
				}
				st := inspect(t, s)
				if _, ok := s.Cell(leaseCell); !ok || st.Held {
					t.Fatalf("released %t: the lock is %+v", released, st)
				}
			}
			s.clock = time.Now
			time.Sleep(time.Second)
			if err := forget(t, at(t, s, options("operator"))); err != nil {
				t.Errorf("released %t: %v", released, err)
			}
			if g := drive.Hold(t, at(t, s, options("b"))); g.Token <= last {
				t.Errorf("released %t: the token %d after %d", released, g.Token, last)
			}
		})
	}
}

// TestForgetTakenMeanwhile: a run that takes the lock between the read and the deletion keeps
// it.
func TestForgetTakenMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		a := at(t, s, options("a"))
		drive.Hold(t, a)
		drive.Release(t, a)
		arrived, late := catch(s, "delete")
		w, done := at(t, s, patiently("operator")), make(chan error, 1)
		go func() { done <- forget(t, w) }()
		drive.Within(t, drive.Patience, arrived)
		b := at(t, s, options("b"))
		g := drive.Hold(t, b)
		close(late)
		if err := <-done; !errors.Is(err, locks.ErrHeld) {
			t.Errorf("got %v", err)
		}
		drive.Renew(t, b)
		if st := inspect(t, s); st.Token != g.Token {
			t.Errorf("got %+v", st)
		}
	})
}

// TestForgetLostAnswer: if the answer was lost, another read finds out the outcome.
func TestForgetLostAnswer(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]Fault{"no answer": {LoseReply: true}, "lost": {Drop: true}, "twice": {Twice: true}, "too soon": {Err: refuse(causes.Throttled, "too soon")}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				drive.Hold(t, at(t, s, options("a")))
				s.Age(leaseCell, time.Hour)
				s.Next("delete", f)
				if err := forget(t, at(t, s, patiently("operator"))); err != nil || len(s.under("p|")) > 0 {
					t.Errorf("got %v; left: %+v", err, s.under("p|"))
				}
			})
		})
	}
}

// TestForgetDenied: if the deletion of a dead holder's lock is refused, the lock is free
// afterwards.
func TestForgetDenied(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		drive.Hold(t, at(t, s, options("a")))
		s.Age(leaseCell, time.Hour)
		s.Next("delete", Fault{Err: refuse(causes.Denied, "no")})
		if err := forget(t, at(t, s, options("operator"))); !errors.Is(err, locks.ErrDenied) || inspect(t, s).Held {
			t.Errorf("got %v, and afterwards %+v", err, inspect(t, s))
		}
	})
}

// TestForgetOfLiveHolder: a holder that seems to be gone, by a clock that is wrong, and renews while
// Forget watches, keeps the lock.
func TestForgetOfLiveHolder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSim(caslease.ByClock)
		a := at(t, s, options("a"))
		drive.Hold(t, a)
		s.clock = func() time.Time { return time.Now().Add(time.Hour) }
		done := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() { done <- at(t, s, options("operator")).(locks.Forgetter).Forget(ctx) }()
		for range 10 {
			time.Sleep(2 * time.Second)
			drive.Renew(t, a)
		}
		if err := <-done; !errors.Is(err, locks.ErrHeld) {
			t.Errorf("got %v", err)
		}
		if got := inspect(t, s); !got.Held || got.Holder != "a" {
			t.Errorf("the lock is %+v", got)
		}
	})
}

// TestForgetOfDeadHolder: where the store's clock may be wrong, Forget watches the lock first, if
// there is time, and otherwise says for how long it must be watched.
func TestForgetOfDeadHolder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSim(caslease.ByClock)
		drive.Hold(t, at(t, s, options("dead")))
		s.Age(leaseCell, time.Hour)
		w := at(t, s, options("operator"))
		short, cancel := context.WithTimeout(t.Context(), options("").ConnectTimeout)
		defer cancel()
		start := time.Now()
		held, ok := errors.AsType[*locks.HeldError](w.(locks.Forgetter).Forget(short))
		if !ok || held.Status.Confirm == 0 || time.Since(start) > time.Second {
			t.Fatalf("got %v after %v; want that it is to be confirmed", held, time.Since(start))
		}
		long, cancel := context.WithTimeout(t.Context(), options("").ConnectTimeout+held.Status.Confirm)
		defer cancel()
		for _, ctx := range []context.Context{long, t.Context()} {
			if err := w.(locks.Forgetter).Forget(ctx); err != nil {
				t.Error(err)
			}
			if all := s.under("p|"); len(all) > 0 {
				t.Errorf("left: %+v", all)
			}
			drive.Hold(t, at(t, s, options("dead")))
			s.Age(leaseCell, time.Hour)
		}
	})
}
