package zookeeper_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

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
