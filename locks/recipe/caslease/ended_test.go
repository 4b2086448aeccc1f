package caslease_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// TestUndoSparesOthers: the caller gives up when it is not known whether its write took effect.
// By then somebody else has the lock, and keeps it.
func TestUndoSparesOthers(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		const others = `{"state":"held","nonce":"x.1","ttl_ms":60000,"holder":"c"}`
		ctx, cancel := context.WithCancel(drive.Context(t))
		defer cancel()
		s.Fault(func(r Request) Fault {
			if r.Verb == "create" {
				s.SetState(leaseCell, others)
				cancel()
			}
			return Fault{Drop: r.Verb == "create"}
		})
		if g, err := at(t, s, options("a")).Acquire(ctx, true); !errors.Is(err, context.Canceled) {
			t.Errorf("got %+v, %v; want context.Canceled", g, err)
		}
		if got := stateOf(t, s); got != others {
			t.Errorf("the state is %s", got)
		}
	})
}

// TestReleaseBesideWrite: Release is called while the write that takes the lock is under way.
// Acquire fails because of that, and the lock is free.
func TestReleaseBesideWrite(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		answer := make(chan struct{})
		s.Next("create", Fault{Hold: answer})
		l, done := at(t, s, options("a")), make(chan error, 1)
		go func() { _, err := l.Acquire(drive.Context(t), true); done <- err }()
		drive.Eventually(t, drive.Patience, "the cell exists", func() bool { return len(s.under("p|")) == 1 })
		drive.Release(t, l)
		close(answer)
		if err := <-done; !errors.Is(err, locks.ErrLost) || !strings.Contains(err.Error(), "released") {
			t.Errorf("got %v; want ErrLost, as it was released", err)
		}
		if inspect(t, s).Held {
			t.Errorf("the state is %s", stateOf(t, s))
		}
	})
}

// TestReleaseBesideWait: the same while Acquire waits.
func TestReleaseBesideWait(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		drive.Hold(t, at(t, s, options("a")))
		l, done := at(t, s, options("b")), make(chan error, 1)
		go func() { _, err := l.Acquire(drive.Context(t), false); done <- err }()
		time.Sleep(time.Second)
		start := time.Now()
		drive.Release(t, l)
		if err := <-done; time.Since(start) > time.Second || !errors.Is(err, locks.ErrLost) || !strings.Contains(err.Error(), "released") {
			t.Errorf("got %v after %v; want ErrLost, as it was released", err, time.Since(start))
		}
	})
}

// TestReleaseOfNothing: after an Acquire that failed there is nothing to release, and the handle
// can be used again.
func TestReleaseOfNothing(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		a, b := at(t, s, options("a")), at(t, s, options("b"))
		drive.Hold(t, a)
		if _, err := b.Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrHeld) {
			t.Fatal(err)
		}
		drive.Release(t, b)
		drive.Release(t, a)
		drive.Hold(t, b)
	})
}

// TestTexts: an error says what was done to which lock, in the store's words or the engine's.
func TestTexts(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a")).(locks.Inspector)
		never := make(chan struct{})
		t.Cleanup(func() { close(never) })
		for want, f := range map[string]Fault{
			`inspect "jobs/nightly" on sim://: no`:                   {Err: refuse(causes.Refused, "no")},
			`inspect "jobs/nightly" on sim://: no answer within 4s`:  {Hold: never},
			`inspect "jobs/nightly" on sim://: it is\x1b[2J strange`: {Err: errors.New("it is\x1b[2J strange")},
		} {
			s.Fault(func(Request) Fault { return f })
			if _, err := l.Inspect(drive.Context(t)); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v\nwant %s", err, want)
			}
		}
	})
}

// TestDisturbed: a wait goes on after errors that may pass, which are logged once. Another error
// ends it.
func TestDisturbed(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		a := at(t, s, options("a"))
		drive.Hold(t, a)
		var log drive.Log
		o := options("b")
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		l, done := at(t, s, o), make(chan error, 1)
		go func() { _, err := l.Acquire(drive.Context(t), false); done <- err }()
		time.Sleep(time.Second)
		drive.Release(t, a)
		s.Fault(func(Request) Fault { return Fault{Err: refuse(causes.Unknown, "Backend Error")} })
		time.Sleep(8 * time.Second)
		s.Fault(nil)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), "the wait is disturbed"); n != 1 {
			t.Errorf("logged %d times", n)
		}
		go func() { _, err := at(t, s, options("c")).Acquire(drive.Context(t), false); done <- err }()
		time.Sleep(time.Second)
		s.Fault(func(Request) Fault { return Fault{Err: refuse(causes.Denied, "no")} })
		start := time.Now()
		if err := <-done; !errors.Is(err, locks.ErrDenied) || time.Since(start) > 4*time.Second {
			t.Errorf("an error that does not pass: got %v after %v; want ErrDenied", err, time.Since(start))
		}
	})
}

// TestPatience: a waiter whose time runs out learns who holds the lock.
func TestPatience(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		a := at(t, s, options("a"))
		drive.Hold(t, a)
		ctx, cancel := context.WithTimeout(drive.Context(t), 5*time.Second)
		defer cancel()
		o, reports := options("b"), 0
		o.Waiting = func(locks.Waiting) { reports++ }
		_, err := at(t, s, o).Acquire(ctx, false)
		if reports != 1 {
			t.Errorf("the holder was reported %d times", reports)
		}
		if !errors.Is(err, locks.ErrHeld) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "held by a") {
			t.Errorf("got %v", err)
		}
	})
}

// TestFirstLookAtOnce: the first look is not repeated after an error that does not pass, or if
// nothing answers at the address.
func TestFirstLookAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		for kind, want := range map[causes.Kind]error{causes.Denied: locks.ErrDenied, causes.Unreachable: locks.ErrUnavailable} {
			l := at(t, s, options("a"))
			s.Fault(func(Request) Fault { return Fault{Err: refuse(kind, "no")} })
			if _, err := l.Acquire(drive.Context(t), false); !errors.Is(err, want) {
				t.Errorf("got %v; want %v", err, want)
			}
			if n := verbs(s); len(n) != 1 || n["read"] != 1 {
				t.Errorf("%v: requests: %v; want one read", want, n)
			}
		}
	})
}

// TestNoResignWatched: a holder that will not resign does not read requests, even if it is told
// that something has changed.
func TestNoResignWatched(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		s.watched = true
		o := options("a")
		o.NoResign = true
		g := drive.Hold(t, at(t, s, o))
		synctest.Wait()
		verbs(s)
		s.SetState(requestCell, "?")
		s.Edit(leaseCell, func(*caslease.Cell) {})
		time.Sleep(time.Second)
		if n := verbs(s); n["read"] == 0 || n["ask read"] > 0 {
			t.Errorf("after a change, the holder of token %d made the requests %v", g.Token, n)
		}
	})
}

// TestRenewCannotRead: the answer to a renewal was lost, and the next one cannot read what became
// of it. That is no loss.
func TestRenewCannotRead(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a"))
		drive.Hold(t, l)
		s.Edit(leaseCell, func(*caslease.Cell) {})
		s.Next("read", Fault{Err: refuse(causes.Unknown, "Backend Error")})
		if err := renew(t, l); !errors.Is(err, locks.ErrUnavailable) {
			t.Errorf("got %v; want ErrUnavailable", err)
		}
		drive.Renew(t, l)
	})
}
