package zookeeper_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zktest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
)

const opAddWatch = 106

// testWatch tells of a holder, a waiter that comes and one that leaves, and of a
// term's end, in whichever mode.
func testWatch(t *testing.T, s *root) {
	op := operate(t, s)
	modes := []string{"?mode=fair", "?mode=unfair"}
	for _, mode := range modes {
		for _, ours := range modes {
			w := handle(t, s.URL()+"/p"+ours, options("w"))
			for _, changes := range []<-chan struct{}{drive.Watch(t, w, false), drive.Watch(t, w, true)} {
				is := func(holder string, waiters int) func() bool {
					return func() bool { i := drive.Inspect(t, w); return i.Holder == holder && i.Waiters == waiters }
				}
				a := handle(t, s.URL()+"/p"+mode, options("a"))
				drive.Hold(t, a)
				drive.Changed(t, changes, "a leads", is("a", 0))
				if mode == "?mode=fair" {
					ctx, cancel := context.WithCancel(drive.Context(t))
					_, done := campaign(ctx, t, s.URL()+"/p"+mode, options("b"))
					drive.Changed(t, changes, "b waits", is("a", 1))
					cancel()
					<-done
					drive.Changed(t, changes, "b has left", is("a", 0))
				}
				op.put("/p/jobs%2Fnightly%ask", "") // which is nothing that is told of one lock
				drive.Release(t, a)
				drive.Changed(t, changes, "nobody leads", is("", 0))
			}
		}
	}
}

// testWatchAll tells of any lock, of those who wait for it and of its record, and
// begins in a store that is still empty.
func testWatchAll(t *testing.T, s *root) {
	for root, mode := range map[string]string{"/fair": "?mode=fair", "/unfair": "?mode=unfair"} {
		w := handle(t, s.URL()+root, options("w"))
		changes := drive.Watch(t, w, true)
		o := options("a")
		o.Name = "another/lock"
		a := handle(t, s.URL()+root+mode, o)
		listed := func(holder string, waiters int, kept string) func() bool {
			return func() bool {
				all, _ := drive.List(t, w)
				got := all["another/lock"]
				return len(all) == 1 && got.Status.Holder == holder && got.Status.Waiters == waiters && string(got.Record) == kept
			}
		}
		drive.Hold(t, a)
		drive.Changed(t, changes, "a leads", listed("a", 0, ""))
		waiters := 0
		if root == "/fair" {
			waiters = 1
			o.Holder = "b"
			_, _ = campaign(drive.Context(t), t, s.URL()+root, o)
			drive.Changed(t, changes, "b waits", listed("a", waiters, ""))
		}
		for _, text := range []string{"one", "two"} {
			if err := a.SetRecord(drive.Context(t), []byte(text)); err != nil {
				t.Error(err)
			}
			drive.Changed(t, changes, "there is the record "+text, listed("a", waiters, text))
		}
		drive.Release(t, a)
		drive.Changed(t, changes, "a has left", func() bool { return !listed("a", waiters, "two")() })
	}
}

// testWatchesOneLock: what happens to others is not told.
func testWatchesOneLock(t *testing.T, s *root) {
	w := handle(t, s.URL()+"/p", options("w"))
	changes, all := drive.Watch(t, w, false), drive.Watch(t, handle(t, s.URL()+"/p", options("v")), true)
	for _, name := range []string{"jobs", "jobs/nightly/x", "jobs/nightly#1"} {
		o := options("a")
		o.Name = name
		a := handle(t, s.URL()+"/p", o)
		drive.Hold(t, a)
		write(t, a)
		drive.Release(t, a)
		drive.Changed(t, all, name+" is held", func() bool { return true })
	}
	select {
	case <-changes:
		t.Error("what happens to others is told")
	default:
	}
	drive.Hold(t, handle(t, s.URL()+"/p", options("a")))
	drive.Changed(t, changes, "a leads", func() bool { return true })
}

// TestWatchAcrossExpiry: a session that ended while we were away is followed by
// another.
func TestWatchAcrossExpiry(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.Options{})
	p := faultproxy.New(t, s.Addr())
	o := options("w")
	o.TTL = time.Second
	w := handle(t, "zk://"+p.Addr()+"/p", o)
	changes := drive.Watch(t, w, false)
	drive.Eventually(t, drive.Patience, "there is a session", func() bool { return sessions(s) == 1 }) // a slow machine may have lost one
	p.Refuse()
	drive.Eventually(t, drive.Patience, "the session ends", func() bool { return sessions(s) == 0 })
	p.Heal()
	drive.Changed(t, changes, "there may be a change", func() bool { return true })
	a := handle(t, s.URL()+"/p", options("a"))
	drive.Hold(t, a)
	drive.Changed(t, changes, "a leads", func() bool { return drive.Inspect(t, w).Held })
}

// testWatchLasts: nothing is told of a quiet lock, and its session does not end.
func testWatchLasts(t *testing.T, s *root) {
	m := meddle(t, s)
	o := options("w")
	o.TTL = 600 * time.Millisecond
	w := handle(t, m.url()+"/p", o)
	changes := drive.Watch(t, w, false)
	drive.Eventually(t, drive.Patience, "three TTLs pass", func() bool { return m.count(opPing) >= 9 })
	if n := m.count(opAddWatch); n != 1 {
		t.Errorf("it began to watch %d times", n)
	}
	select {
	case <-changes:
		t.Error("a change is told")
	default:
	}
}

// testWatchRenewsNothing: a holder that watches, and does not renew, loses its lock
// when its TTL is over.
func testWatchRenewsNothing(t *testing.T, s *root) {
	o := options("a")
	o.TTL = time.Second
	a := handle(t, s.URL()+"/p", o)
	changes := drive.Watch(t, a, false)
	drive.Hold(t, a)
	start := time.Now()
	if err := drive.LossOf(t, a); !errors.Is(err, locks.ErrLost) {
		t.Error(err)
	}
	w := handle(t, s.URL()+"/p", options("w"))
	drive.Changed(t, changes, "nobody leads", func() bool { return !drive.Inspect(t, w).Held })
	t.Logf("free after %v", time.Since(start))
}

// sessions returns how many a server knows; -1: it does not say.
func sessions(s *zktest.Server) int {
	dump, _, ok := strings.Cut(s.Ask("dump"), "ephemeral nodes dump:")
	if !ok {
		return -1
	}
	return strings.Count(dump, "\n\t")
}

// TestWatchEnds with its context, and with the handle, and leaves nothing.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.Options{})
	w := handle(t, s.URL()+"/p", options("w"))
	ctx, cancel := context.WithCancel(t.Context())
	changes, err := w.Watch(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	ends := func() bool {
		return strings.HasPrefix(s.Ask("wchs"), "0 connections watching 0 paths") && sessions(s) == 0
	}
	if ends() {
		t.Fatal("nobody watches")
	}
	cancel()
	closes(t, changes)
	drive.Eventually(t, drive.Patience, "the session is closed", ends)
	again := drive.Watch(t, w, false)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	closes(t, again)
	if !ends() {
		t.Error("a closed handle has left a session")
	}
	if _, err := w.Watch(t.Context(), false); err == nil {
		t.Error("a closed handle watches")
	}
}

func closes(t *testing.T, changes <-chan struct{}) {
	t.Helper()
	for range 2 {
		if !drive.Told(t, changes) {
			return
		}
	}
	t.Error("the channel is not closed")
}

// testWatchOldServer: a server that cannot watch a tree is not one that cannot be
// reached.
func testWatchOldServer(t *testing.T, s *root) {
	m := meddle(t, s)
	m.lacks(opAddWatch)
	for _, all := range []bool{false, true} {
		if _, err := handle(t, m.url()+"/p", options("w")).Watch(drive.Context(t), all); !errors.Is(err, locks.ErrUsage) {
			t.Errorf("all=%v: got %v, want ErrUsage", all, err)
		}
	}
}

// testWatchNobody: an address where nobody is, or where nobody answers, is told
// soon.
func testWatchNobody(t *testing.T, s *root) {
	p := faultproxy.New(t, s.Addr())
	o := options("w")
	o.ConnectTimeout = 500 * time.Millisecond
	for _, cut := range []func(*faultproxy.Proxy){(*faultproxy.Proxy).Refuse, (*faultproxy.Proxy).CutAll} {
		cut(p)
		start := time.Now()
		if _, err := handle(t, s.through(p.Addr())+"/p", o).Watch(drive.Context(t), false); !errors.Is(err, locks.ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		p.Heal()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := handle(t, s.URL()+"/p", o).Watch(ctx, false); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
