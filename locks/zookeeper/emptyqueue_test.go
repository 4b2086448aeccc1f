package zookeeper_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/zookeeper/zktest"
)

// TestEmptyQueueMayBeALock: between the look at an empty queue and its deletion,
// somebody may have taken the lock in unfair mode, under the same path.
func TestEmptyQueueMayBeALock(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.Options{})
	op := operate(t, s)
	op.put("/p/jobs%2Fnightly", "")
	first := open(t, s.URL()+"/p?mode=unfair", options("first"))
	var taken sync.Once
	m := meddle(t, s.Addr())
	m.answers(func(op int32, _ []byte) bool {
		if op == opGetChildren {
			taken.Do(func() { drive.Hold(t, first) })
		}
		return true
	})
	second := open(t, m.url()+"/p?mode=unfair", options("second"))
	if g, err := second.Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrHeld) {
		t.Errorf("got %+v, %v beside the holder; want ErrHeld", g, err)
	}
	drive.Renew(t, first)
	drive.Release(t, first)
}
