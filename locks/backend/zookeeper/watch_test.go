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

// testWatchAll checks that a watch of all locks reports holders, waiters and records of any
// lock, and that it can begin in an empty store.
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

// testWatchesOneLock checks that the watch of one lock does not report others.
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
		t.Error("the watch reports other locks")
	default:
	}
	drive.Hold(t, handle(t, s.URL()+"/p", options("a")))
	drive.Changed(t, changes, "a leads", func() bool { return true })
}

// TestWatchAcrossExpiry checks that a watch whose session expired during an outage begins
// another session.
func TestWatchAcrossExpiry(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.Options{})
	p := faultproxy.New(t, s.Addr())
	o := options("w")
	o.TTL = time.Second
	w := handle(t, "zk://"+p.Addr()+"/p", o)
	changes := drive.Watch(t, w, false)
	drive.Eventually(t, drive.Patience, "there is a session", func() bool { return sessions(s) == 1 }) // on a slow machine, one may have expired
	p.Refuse()
	drive.Eventually(t, drive.Patience, "the session ends", func() bool { return sessions(s) == 0 })
	p.Heal()
	drive.Changed(t, changes, "there may be a change", func() bool { return true })
	a := handle(t, s.URL()+"/p", options("a"))
	drive.Hold(t, a)
	drive.Changed(t, changes, "a leads", func() bool { return drive.Inspect(t, w).Held })
}

// testWatchLasts checks that the watch of an unchanged lock reports nothing, and that its
// session does not end.
func testWatchLasts(t *testing.T, s *root) {
	m := intercept(t, s)
	o := options("w")
	o.TTL = 600 * time.Millisecond
	w := handle(t, m.url()+"/p", o)
	changes := drive.Watch(t, w, false)
	drive.Eventually(t, drive.Patience, "three TTLs pass", func() bool { return m.count(opPing) >= 9 })
	if n := m.count(opAddWatch); n != 1 {
		t.Errorf("it began to watch %d times; want 1", n)
	}
	select {
	case <-changes:
		t.Error("a change was reported that did not happen")
	default:
	}
}

// testWatchRenewsNothing checks that a holder that watches, but does not renew, loses its
// lock when its TTL has passed.
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

// sessions returns the number of a server's sessions, or -1 if it does not answer.
func sessions(s *zktest.Server) int {
	dump, _, ok := strings.Cut(s.Ask("dump"), "ephemeral nodes dump:")
	if !ok {
		return -1
	}
	return strings.Count(dump, "\n\t")
}

// TestWatchEnds checks that a watch ends with its context and with the handle, and leaves
// nothing.
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
		t.Fatal("the server has no watch")
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
		if !drive.Change(t, changes) {
			return
		}
	}
	t.Error("the channel is not closed")
}

// testWatchOldServer checks that a server that cannot watch a tree is an ErrUsage, and not
// one that cannot be reached.
func testWatchOldServer(t *testing.T, s *root) {
	m := intercept(t, s)
	m.lacks(opAddWatch)
	for _, all := range []bool{false, true} {
		if _, err := handle(t, m.url()+"/p", options("w")).Watch(drive.Context(t), all); !errors.Is(err, locks.ErrUsage) {
			t.Errorf("all=%v: got %v, want ErrUsage", all, err)
		}
	}
}

// testWatchUnreachable checks that an address without a server, or a silent one, is reported
// soon.
func testWatchUnreachable(t *testing.T, s *root) {
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
}
