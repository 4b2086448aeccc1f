package zookeeper_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// testExpiryByForce ends a session, as an operator may.
func testExpiryByForce(t *testing.T, s *root) {
	m := intercept(t, s)
	var mu sync.Mutex
	var id int64
	m.connects(func(answer []byte) {
		mu.Lock()
		defer mu.Unlock()
		if id == 0 { // the first session is the holder's
			id = int64(binary.BigEndian.Uint64(answer[12:]))
		}
	})
	a := open(t, m.url()+"/p", options("a"))
	drive.Hold(t, a)
	b, done := campaign(drive.Context(t), t, s.URL()+"/p", options("b"))
	mu.Lock()
	if err := s.EndSession(id); err != nil {
		t.Error(err)
	}
	mu.Unlock()
	if r := drive.Within(t, drive.Patience, done); r.Err != nil {
		t.Fatalf("the waiter: %v", r.Err)
	}
	err := a.Renew(drive.Context(t))
	if !errors.Is(err, locks.ErrLost) {
		t.Errorf("renew after the session ended: got %v; want ErrLost", err)
	}
	if err := drive.LossOf(t, a); !errors.Is(err, locks.ErrLost) || !strings.Contains(err.Error(), "session ended") {
		t.Errorf("Lost delivers %v", err)
	}
	if err := a.Renew(drive.Context(t)); !errors.Is(err, locks.ErrLost) {
		t.Errorf("renew again: got %v; want ErrLost", err)
	}
	drive.Release(t, a)
	drive.Renew(t, b)
	drive.Release(t, b)
}

// testModesExcludeEachOther checks that contenders with different modes exclude each other.
func testModesExcludeEachOther(t *testing.T, s *root) {
	modes := []string{"?mode=fair", "?mode=unfair"}
	for i, first := range modes {
		second := modes[1-i]
		a := open(t, s.URL()+"/p"+first, options("a"))
		g := drive.Hold(t, a)
		b := open(t, s.URL()+"/p"+second, options("b"))
		_, err := b.Acquire(drive.Context(t), true)
		held, ok := errors.AsType[*locks.HeldError](err)
		if !ok || held.Status.Holder != "a" {
			t.Fatalf("%s while %s holds the lock: %v", second, first, err)
		}
		c, done := campaign(drive.Context(t), t, s.URL()+"/p"+second, options("c"))
		drive.Renew(t, a)
		drive.Renew(t, c)
		drive.Release(t, a)
		r := drive.Within(t, drive.Patience, done)
		if r.Err != nil || r.Grant.Token <= g.Token {
			t.Fatalf("%s after %s: %+v, %v", second, first, r.Grant, r.Err)
		}
		drive.Release(t, c)
	}
}
