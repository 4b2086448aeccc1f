package caslease_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// inspect inspects the lock by another handle.
func inspect(t *testing.T, s *sim) locks.State {
	t.Helper()
	state, err := at(t, s, options("who asks")).(locks.Inspector).Inspect(drive.Context(t))
	if err != nil {
		t.Fatalf("inspect: %v", err)
	}
	return state
}

// TestInspect: a lock that nobody ever had, that is held, that was renewed, whose lease seems to
// have run out, and that was released. Each inspection is one request.
func TestInspect(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		if got := inspect(t, s); got.Held || got.Holder != "" {
			t.Errorf("before anybody had it: %+v", got)
		}
		o := options("a")
		o.RunID, o.NoResign = "run-1", true
		a := at(t, s, o)
		g := drive.Hold(t, a)
		wantA := func(when string) {
			t.Helper()
			verbs(s)
			got := inspect(t, s)
			if !got.Held || got.Holder != "a" || got.RunID != "run-1" || !got.NoResign || got.Token != g.Token || got.TTL != 10*time.Second || got.Since.IsZero() || len(got.Queue) > 0 {
				t.Errorf("%s: %+v; want a with the token %d", when, got, g.Token)
			}
			n := verbs(s)
			if delete(n, "ask read"); !maps.Equal(n, map[string]int{"read": 1}) {
				t.Errorf("%s: requests: %v", when, n)
			}
		}
		wantA("held")
		drive.Renew(t, a)
		wantA("renewed")
		s.Age(leaseCell, time.Hour)
		wantA("seems to have run out")
		s.Age(leaseCell, -time.Hour)
		drive.Release(t, a)
		if got := inspect(t, s); got.Held || got.Holder != "" {
			t.Errorf("after the release: %+v", got)
		}
		drive.Hold(t, at(t, s, options("b")))
		if got := inspect(t, s); !got.Held || got.Holder != "b" || got.NoResign {
			t.Errorf("held by b: %+v", got)
		}
	})
}

// TestInspectFails: a cell that cannot be believed is an error. A read that fails is repeated, for
// less time than the wait for an answer, but not if the address is unreachable.
func TestInspectFails(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("b")).(locks.Inspector)
		drive.Hold(t, at(t, s, options("a")))
		s.Next("read", Fault{Err: refuse(causes.Unknown, "Backend Error")})
		if got, err := l.Inspect(drive.Context(t)); err != nil || got.Holder != "a" {
			t.Errorf("the second read: %+v, %v", got, err)
		}
		s.SetState(leaseCell, "?")
		if got, err := l.Inspect(drive.Context(t)); !errors.Is(err, locks.ErrUsage) {
			t.Errorf("a cell that cannot be believed: %+v, %v", got, err)
		}
		for kind, want := range map[causes.Kind]time.Duration{causes.Unreachable: 0, causes.Unknown: time.Second} {
			s.Fault(func(Request) Fault { return Fault{Err: refuse(kind, "no")} })
			start := time.Now()
			_, err := l.Inspect(drive.Context(t))
			if took := time.Since(start); !errors.Is(err, locks.ErrUnavailable) || took < want || took > 3*want+10*time.Millisecond {
				t.Errorf("kind %d: %v after %v", kind, err, took)
			}
		}
	})
}

// TestLeft: the status has the time left of a lease, by the store's clock.
func TestLeft(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		drive.Hold(t, at(t, s, options("a")))
		left := func() time.Duration { return inspect(t, s).Left }
		if got := left(); got <= 5*time.Second || got > 10*time.Second {
			t.Errorf("at first %v", got)
		}
		s.Age(leaseCell, 4*time.Second)
		if got := left(); got <= time.Second || got > 7*time.Second {
			t.Errorf("4s later %v", got)
		}
		s.Age(leaseCell, time.Hour)
		if got := left(); got > -time.Minute {
			t.Errorf("long after its end %v", got)
		}
		s.Fault(func(Request) Fault {
			return Fault{Answer: func(c *caslease.Cell) { c.Date = time.Time{} }}
		})
		if st := inspect(t, s); st.Left != 0 || st.Confirm == 0 || !st.Held {
			t.Errorf("without a Date: %+v", st)
		}
	})
}

// TestStart: the start of the first term is unknown, because somebody may have deleted the cell of
// an earlier one. An unknown word in the state is left out.
func TestStart(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		for _, want := range []string{"", locks.StartClean, locks.StartTakeover} {
			l := at(t, s, options("a"))
			drive.Hold(t, l)
			if got := inspect(t, s).Start; got != want {
				t.Errorf("got %q; want %q", got, want)
			}
			if want == "" {
				drive.Release(t, l)
			} else {
				s.Age(leaseCell, time.Hour)
			}
		}
		s.SetState(leaseCell, strings.Replace(stateOf(t, s), locks.StartTakeover, "x", 1))
		if got := inspect(t, s); got.Start != "" || !got.Held {
			t.Errorf("got %+v", got)
		}
	})
}

// TestInspectConfirms: a handle that inspects the lock, or lists it, again and again is as certain
// as a waiter that the lease has ended, and no sooner.
func TestInspectConfirms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSim(caslease.ByClock)
		a := at(t, s, options("a"))
		drive.Hold(t, a)
		looks := map[string]func() locks.Status{}
		for _, way := range []string{"inspect", "list"} {
			w := at(t, s, options("who asks"))
			looks[way] = func() locks.Status {
				if way == "list" {
					page, _ := drive.List(t, w.(locks.Lister))
					return page[lockName].Status
				}
				state, err := w.(locks.Inspector).Inspect(drive.Context(t))
				if err != nil {
					t.Fatal(err)
				}
				return state.Status
			}
		}
		over := func(want bool, when string) {
			t.Helper()
			for way, look := range looks {
				if st := look(); st.Over() != want || !st.Held {
					t.Errorf("%s, %s: %+v", when, way, st)
				}
			}
		}
		over(false, "held")
		s.clock = func() time.Time { return time.Now().Add(time.Hour) } // it is set forward
		over(false, "not confirmed")
		time.Sleep(3 * time.Second)
		drive.Renew(t, a)
		over(false, "renewed")
		time.Sleep(options("").TTL + options("").TTL/8)
		over(true, "ended")
	})
}

// TestInspectUndated: where the store does not say when a lease ends, it is over once it has not
// been renewed under our eyes; a lease of the store's own, when the store says so.
func TestInspectUndated(t *testing.T) {
	t.Parallel()
	for expiry, atOnce := range map[caslease.Expiry]bool{caslease.ByWatching: false, caslease.ByLease: true} {
		synctest.Test(t, func(t *testing.T) {
			s, ttl := newSim(expiry), options("").TTL
			a := at(t, s, options("a"))
			drive.Hold(t, a)
			w := at(t, s, options("who asks")).(locks.Inspector)
			check := func(want bool, when string) {
				t.Helper()
				st, err := w.Inspect(drive.Context(t))
				if err != nil || !st.Held || st.Over() != want || atOnce && st.Confirm > 0 {
					t.Errorf("%v, %s: %+v, %v", expiry, when, st.Status, err)
				}
			}
			check(false, "held")
			time.Sleep(ttl / 2)
			drive.Renew(t, a)
			if st, err := w.Inspect(drive.Context(t)); err != nil || st.Confirm != 0 {
				t.Errorf("%v, renewed: %+v, %v; want nothing to confirm", expiry, st.Status, err)
			}
			time.Sleep(ttl - time.Second)
			check(false, "not ended")
			time.Sleep(2 * time.Second)
			check(true, "ended")
			drive.Release(t, a)
			for range 2 {
				if st, err := w.Inspect(drive.Context(t)); err != nil || st.Held || st.Left != 0 || st.Confirm != 0 {
					t.Errorf("%v, free: %+v, %v", expiry, st.Status, err)
				}
				time.Sleep(2 * ttl)
			}
		})
	}
}
