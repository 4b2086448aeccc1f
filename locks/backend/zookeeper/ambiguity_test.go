package zookeeper_test

import (
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// testLostAnswerToCreate checks that Acquire finds its node if the answer to the creation
// was lost.
func testLostAnswerToCreate(t *testing.T, s *root) {
	op := operate(t, s)
	for _, mode := range []string{"fair", "unfair"} {
		for _, try := range []bool{true, false} {
			m := intercept(t, s)
			var lost atomic.Int32
			m.answers(func(op int32, p []byte) bool {
				succeeded := binary.BigEndian.Uint32(p[16:]) == 0
				return op != opCreate || !succeeded || len(p) < 30 || lost.Add(1) > 1
			})
			l := open(t, m.url()+"/"+mode+"?mode="+mode, options("a"))
			g, err := l.Acquire(drive.Context(t), try)
			if err != nil {
				t.Fatalf("%s, try=%v: %v", mode, try, err)
			}
			if lost.Load() == 0 {
				t.Fatal("no answer was lost")
			}
			if all := op.tree("/" + mode); len(all) != 1 {
				t.Errorf("%s, try=%v: there are %q; want one node", mode, try, all)
			}
			drive.Renew(t, l)
			drive.Release(t, l)
			if g.Token == 0 {
				t.Error("the token is 0")
			}
		}
	}
}

// testLostAnswersToEverything checks that an Acquire that got no answer leaves nothing
// behind.
func testLostAnswersToEverything(t *testing.T, s *root) {
	op := operate(t, s)
	m := intercept(t, s)
	m.answers(func(op int32, _ []byte) bool { return op != opCreate })
	o := options("a")
	o.ConnectTimeout = time.Second
	l := open(t, m.url()+"/p", o)
	if g, err := l.Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrUnavailable) {
		t.Fatalf("got %+v, %v; want ErrUnavailable", g, err)
	}
	drive.Eventually(t, 2*time.Second, "nothing is left", func() bool { return len(op.entries("/p/jobs%2Fnightly")) == 0 })
	drive.Release(t, open(t, s.URL()+"/p", options("b")))
}

// testNoContainers uses a server without containers, which refuses the request and closes
// the connection. The last contender deletes the queue.
func testNoContainers(t *testing.T, s *root) {
	op := operate(t, s)
	m := intercept(t, s)
	m.lacks(opCreateContainer)
	l := open(t, m.url()+"/p", options("a"))
	drive.Hold(t, l)
	if _, stat, err := op.Get("/p/jobs%2Fnightly"); err != nil || stat.EphemeralOwner != 0 {
		t.Fatalf("the queue is not a plain node: %+v, %v", stat, err)
	}
	drive.Release(t, l)
	if all := op.tree("/p"); len(all) != 0 {
		t.Errorf("left behind: %q", all)
	}
}

// testNothingIsSentUnasked checks that there are no pings, which would renew.
func testNothingIsSentUnasked(t *testing.T, s *root) {
	m := intercept(t, s)
	o := options("a")
	o.TTL = 3 * time.Second
	l := open(t, m.url()+"/p", o)
	g := drive.Hold(t, l)
	lost := drive.LossOf(t, l) // because the session's timeout passes
	if !errors.Is(lost, locks.ErrLost) || g.TTL != o.TTL {
		t.Errorf("granted %v; lost with %v", g.TTL, lost)
	}
	if n := m.count(opPing); n != 0 {
		t.Errorf("there were %d pings", n)
	}
	next := open(t, s.URL()+"/p", options("b"))
	start := time.Now()
	drive.Eventually(t, 2*time.Second, "the lock is free", func() bool { _, err := next.Acquire(drive.Context(t), true); return err == nil })
	t.Logf("free %v after that", time.Since(start))
}

// testEmptyQueueMayBeALock lets somebody take the lock in unfair mode, with the same path,
// between the look at an empty queue and its deletion.
func testEmptyQueueMayBeALock(t *testing.T, s *root) {
	op := operate(t, s)
	op.put("/p/jobs%2Fnightly", "leaderrun queue")
	first := open(t, s.URL()+"/p?mode=unfair", options("first"))
	var taken sync.Once
	m := intercept(t, s)
	m.answers(func(op int32, _ []byte) bool {
		if op == opGetChildren {
			taken.Do(func() { drive.Hold(t, first) })
		}
		return true
	})
	second := open(t, m.url()+"/p?mode=unfair", options("second"))
	if g, err := second.Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrHeld) {
		t.Errorf("got %+v, %v although there is a holder; want ErrHeld", g, err)
	}
	drive.Renew(t, first)
	drive.Release(t, first)
}
