package candidate_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/candidate"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

const name = "jobs/nightly"

// bubble runs a test in simulated time, with a fleet whose voters have been there for long.
func bubble(t *testing.T, test func(t *testing.T, f *fleet)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet()
		f.votersOf("/" + name)
		test(t, f)
	})
}

// with does something while no message arrives.
func (f *fleet) with(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// at opens a handle on a host.
func (f *fleet) at(t *testing.T, host string) locks.Lock {
	t.Helper()
	l, err := f.open(t.Context(), &url.URL{Host: host, Path: "/"}, locks.Options{Name: name, TTL: 10 * time.Second, ConnectTimeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// TestLongerThanTheLongest: a lease that the voters would refuse is a usage error.
func TestLongerThanTheLongest(t *testing.T) {
	t.Parallel()
	_, err := newFleet().open(t.Context(), &url.URL{}, locks.Options{Name: name, TTL: group.Longest + 1})
	if !errors.Is(err, locks.ErrUsage) || errors.Is(err, locks.ErrUnavailable) {
		t.Errorf("got %v; want only ErrUsage", err)
	}
}

// TestAbstaining: where a majority has just started, a waiter waits for it, and a try says
// why it fails.
func TestAbstaining(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		const left = time.Minute
		f.with(func() {
			f.voters["/"+name][1], f.voters["/"+name][2] = newVoter(1, left), newVoter(2, left)
		})
		_, err := f.at(t, "a").Acquire(t.Context(), true)
		if !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), "2 of 3 voters have just started") {
			t.Errorf("got %v", err)
		}
		start := time.Now()
		if _, err := f.at(t, "b").Acquire(t.Context(), false); err != nil || time.Since(start) < left-3*time.Second {
			t.Errorf("got the lock after %v, %v; want it after %v", time.Since(start), err, left)
		}
	})
}

// TestTwoInOneSeat: two voters that claim one seat count as none. The others are enough.
func TestTwoInOneSeat(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		l := f.at(t, "a")
		drive.Hold(t, l)
		f.with(func() { f.voters["/"+name] = append(f.voters["/"+name], newVoter(2, 0)) })
		drive.Renew(t, l)
		time.Sleep(time.Second)
		f.with(func() { f.voters["/"+name] = f.voters["/"+name][1:] }) // one is left besides the two
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			err := l.Renew(ctx)
			cancel()
			if errors.Is(err, locks.ErrLost) {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
		}
		t.Error("renewed by one voter and two in one seat")
	})
}

// TestEvicted: a holder learns at its next renewal that a majority is bound to others, or was
// told that the term has ended, and frees nobody while its job may live.
func TestEvicted(t *testing.T) {
	for what, do := range map[string]func(v voter, l *candidate.Lock){
		"bound": func(v voter, _ *candidate.Lock) {
			v.Continue(votes.Promise{Bound: votes.Term{Candidate: "other", Number: 1}, Until: clock.Bubble{}.Now().Add(time.Minute), Named: 100})
		},
		"ended": func(v voter, l *candidate.Lock) {
			_, token, _ := l.Term()
			if now := (clock.Bubble{}).Now(); !v.End(now, token) || v.End(now, token) {
				panic("an operator must end a term once")
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				l := f.at(t, "a")
				drive.Hold(t, l)
				time.Sleep(time.Second)                                           // all know the token
				f.with(func() { do(f.voters["/"+name][0], l.(*candidate.Lock)) }) //nolint:forcetypeassert // it is one
				drive.Renew(t, l)
				f.with(func() { do(f.voters["/"+name][1], l.(*candidate.Lock)) }) //nolint:forcetypeassert // it is one
				if err := l.Renew(t.Context()); !errors.Is(err, locks.ErrLost) {
					t.Errorf("renew: got %v; want ErrLost", err)
				}
				if err := <-l.Lost(); !errors.Is(err, locks.ErrLost) || !strings.Contains(err.Error(), "a majority of the voters") {
					t.Errorf("got %v", err)
				}
				if _, err := f.at(t, "b").Acquire(t.Context(), true); err == nil {
					t.Error("another got the lock while the job may live")
				}
				if err := l.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestSplit: who holds the lock must have a token that is known to those who are bound to it. A
// try that only meets others who ask is repeated, and then no answer.
func TestSplit(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		met := votes.Term{Candidate: "met", Number: 1}
		bind := func(token uint64) {
			for _, v := range f.voters["/"+name] {
				v.Vote(clock.Bubble{}.Now(), votes.Ask{Group: group, Term: met, Round: 1, TTL: time.Minute, Token: token})
			}
		}
		f.with(func() { bind(0) })
		start := time.Now()
		if _, err := f.at(t, "a").Acquire(t.Context(), true); !errors.Is(err, locks.ErrUnavailable) || errors.Is(err, locks.ErrHeld) || time.Since(start) < time.Second/2 {
			t.Errorf("without a token: got %v after %v", err, time.Since(start))
		}
		f.with(func() { bind(7) })
		if _, err := f.at(t, "b").Acquire(t.Context(), true); !errors.Is(err, locks.ErrHeld) {
			t.Errorf("with a token: got %v", err)
		}
	})
}

// TestOutage: a waiter that no majority answers any more reports an outage, not that the lock is
// held, however long it has waited before.
func TestOutage(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		drive.Hold(t, f.at(t, "a"))
		got := make(chan error, 1)
		waiter := f.at(t, "b")
		go func() {
			_, err := waiter.Acquire(t.Context(), false)
			got <- err
		}()
		time.Sleep(5 * time.Second)
		start := time.Now()
		f.cut("b", lockstest.CutAll)
		if err := <-got; !errors.Is(err, locks.ErrUnavailable) || errors.Is(err, locks.ErrHeld) || time.Since(start) > 15*time.Second {
			t.Errorf("got %v after %v; want ErrUnavailable soon after the lease of 10 s", err, time.Since(start))
		}
	})
}

// TestForeign: one voter of another group stops nobody; a majority does.
func TestForeign(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		other := group
		other.List = "other"
		foreign := func(seat int) {
			f.voters["/"+name][seat] = voter{votes.NewVoter("x", seat, other, 0, 0), seat, map[votes.Term]bool{}}
		}
		f.with(func() { foreign(0) })
		l := f.at(t, "a")
		drive.Hold(t, l)
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		f.with(func() { foreign(1) })
		if _, err := f.at(t, "b").Acquire(t.Context(), false); !errors.Is(err, locks.ErrUsage) {
			t.Errorf("got %v; want ErrUsage", err)
		}
	})
}

// TestLateVote: a vote that comes when the campaign is over is withdrawn.
func TestLateVote(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		heal := f.cut("a", lockstest.CutReplies)
		_, _ = f.at(t, "a").Acquire(t.Context(), true)
		heal()
		time.Sleep(time.Second) // the withdrawal arrives
		f.with(func() {
			late := f.asked
			for _, v := range f.voters["/"+name] {
				clear(v.over) // it has forgotten the withdrawal
				f.vote(v, votes.Message{Lock: name, Ask: &late})
			}
		})
		time.Sleep(time.Second)
		drive.Hold(t, f.at(t, "b"))
	})
}

// TestReleaseRepeats: a release is sent until a majority has acknowledged it.
func TestReleaseRepeats(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		l := f.at(t, "a")
		drive.Hold(t, l)
		heal := f.cut("a", lockstest.CutAll)
		time.AfterFunc(3*time.Second, heal)
		if err := l.Release(drive.Context(t)); err != nil {
			t.Error(err)
		}
		drive.Hold(t, f.at(t, "b"))
	})
}

// TestReleaseIsUnheard: a release that nobody acknowledges is an error, but none if the lease
// has ended meanwhile.
func TestReleaseIsUnheard(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		l, other := f.at(t, "a"), f.at(t, "b")
		drive.Hold(t, l)
		f.cut("a", lockstest.CutAll)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Release(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v; want that the context has ended", err)
		}
		if _, err := other.Acquire(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		f.cut("b", lockstest.CutAll)
		time.Sleep(10 * time.Second)
		if err := other.Release(t.Context()); err != nil {
			t.Errorf("after the end of the lease: %v", err)
		}
	})
}

// TestReleaseEnds: a release ends an Acquire that waits, and the handle.
func TestReleaseEnds(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		holder, waiter := f.at(t, "a"), f.at(t, "b")
		drive.Hold(t, holder)
		time.AfterFunc(3*time.Second, func() { _ = waiter.Release(t.Context()) })
		if _, err := waiter.Acquire(t.Context(), false); !errors.Is(err, locks.ErrLost) {
			t.Errorf("the waiter: got %v; want ErrLost", err)
		}
		if err := holder.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := holder.Acquire(t.Context(), true); !errors.Is(err, locks.ErrLost) {
			t.Errorf("the holder: got %v; want ErrLost", err)
		}
	})
}

// TestAcquireTwice: a handle that leads cannot campaign again, because that would free those
// who have voted for it.
func TestAcquireTwice(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		l := f.at(t, "a")
		drive.Hold(t, l)
		if g, err := l.Acquire(t.Context(), true); err == nil {
			t.Errorf("got %+v", g)
		}
		if _, err := f.at(t, "b").Acquire(t.Context(), true); !errors.Is(err, locks.ErrHeld) {
			t.Errorf("another: got %v; want ErrHeld", err)
		}
	})
}

// TestHandOver: a waiter learns at once of a release.
func TestHandOver(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		l, next := f.at(t, "a"), f.at(t, "b")
		drive.Hold(t, l)
		won := make(chan error, 1)
		go func() {
			_, err := next.Acquire(t.Context(), false)
			won <- err
		}()
		time.Sleep(5 * time.Second)
		start := time.Now()
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-won; err != nil || time.Since(start) > time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// TestMet: a candidate that was met, and has too few votes, is no holder. A try is repeated.
func TestMet(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		f.with(func() {
			f.voters["/"+name][1] = newVoter(1, time.Second/10)
			met := votes.Term{Candidate: "met", Number: 1}
			f.voters["/"+name][0].Vote(clock.Bubble{}.Now(), votes.Ask{Group: group, Term: met, Round: 1, TTL: time.Minute})
		})
		drive.Hold(t, f.at(t, "a"))
	})
}

// TestWithdrawn: a campaign that fails frees those who have voted for it.
func TestWithdrawn(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		f.with(func() {
			f.voters["/"+name][1], f.voters["/"+name][2] = newVoter(1, 3*time.Second), newVoter(2, time.Minute)
		})
		if _, err := f.at(t, "a").Acquire(t.Context(), true); !errors.Is(err, locks.ErrUnavailable) {
			t.Fatalf("got %v; want ErrUnavailable", err)
		}
		time.Sleep(3 * time.Second)
		drive.Hold(t, f.at(t, "b"))
	})
}
