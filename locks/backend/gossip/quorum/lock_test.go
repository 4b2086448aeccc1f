package quorum_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gossip/votes"
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
		const left = time.Hour
		f.with(func() {
			f.voters["/"+name][1], f.voters["/"+name][2] = newVoter(1, left), newVoter(2, left)
		})
		_, err := f.at(t, "a").Acquire(t.Context(), true)
		if !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), "2 of 3 members have just started") {
			t.Errorf("got %v", err)
		}
		start := time.Now()
		if _, err := f.at(t, "b").Acquire(t.Context(), false); err != nil || time.Since(start) < left-3*time.Second {
			t.Errorf("got the lock after %v, %v; want it after %v", time.Since(start), err, left)
		}
	})
}

// TestCrowded: a holder that sees more voters than there may be has lost the lock, and frees
// nobody while its job may live.
func TestCrowded(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		l := f.at(t, "a")
		drive.Hold(t, l)
		f.with(func() { f.voters["/"+name] = append(f.voters["/"+name], newVoter(3, 0)) })
		_ = l.Renew(t.Context())
		if err := <-l.Lost(); !errors.Is(err, locks.ErrLost) || !strings.Contains(err.Error(), "more members") {
			t.Errorf("got %v", err)
		}
		if err := l.Renew(t.Context()); !errors.Is(err, locks.ErrLost) {
			t.Errorf("renew: got %v; want ErrLost", err)
		}
		time.Sleep(time.Second)
		if _, err := f.at(t, "b").Acquire(t.Context(), true); !errors.Is(err, locks.ErrHeld) {
			t.Errorf("acquire: got %v; want ErrHeld", err)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second) // the release arrives at all: who stays may not be in the first majority
		f.with(func() { f.voters["/"+name] = f.voters["/"+name][:3] })
		drive.Hold(t, f.at(t, "c"))
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

// TestRefusedRenewal: a renewal that a majority does not grant is no loss before E.
func TestRefusedRenewal(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		l := f.at(t, "a")
		drive.Hold(t, l)
		heal := f.cut("a", lockstest.CutReplies)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Renew(ctx); errors.Is(err, locks.ErrLost) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v; want that the context has ended", err)
		}
		heal()
		drive.Renew(t, l)
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
			f.voters["/"+name][1], f.voters["/"+name][2] = newVoter(1, time.Second), newVoter(2, time.Hour)
		})
		if _, err := f.at(t, "a").Acquire(t.Context(), true); !errors.Is(err, locks.ErrUnavailable) {
			t.Fatalf("got %v; want ErrUnavailable", err)
		}
		time.Sleep(time.Second)
		drive.Hold(t, f.at(t, "b"))
	})
}
