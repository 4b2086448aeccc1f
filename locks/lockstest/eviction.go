package lockstest

import (
	"errors"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// hearsOfEviction checks that the loss is reported to the holder, and that the next
// renewal finds it in any case.
func (k *contender) hearsOfEviction() {
	k.e.Helper()
	if lost := k.Lost(); lost != nil && !k.e.c.Unwatched {
		select {
		case err := <-lost:
			if !errors.Is(err, locks.ErrLost) {
				k.e.Errorf("Lost delivers %v; want ErrLost", err)
			}
		case <-time.After(k.e.noticed):
			k.e.Errorf("Lost has delivered nothing within %v", k.e.noticed)
		}
	}
	if err := k.renew(); !errors.Is(err, locks.ErrLost) {
		k.e.Errorf("renew after eviction: got %v; want ErrLost", err)
	}
}

func evictionIsLoss(e *env) {
	a := e.open("a")
	a.hold()
	stop := a.keep()
	b := e.open("b").campaign()
	b.queued()
	_ = stop()
	e.evict()
	a.hearsOfEviction()
	b.won(e.prompt + e.c.Polling)
	a.release()
	e.open("c").refused()
	if lost := a.Lost(); lost != nil {
		select {
		case err, ok := <-lost:
			e.Errorf("Lost delivers a second time, or is closed: %v, %v", err, ok)
		default:
		}
	}
	b.k.release()
	e.free()
}

// releaseIsNoLoss checks that our own release is not reported as a loss.
func releaseIsNoLoss(e *env) {
	a := e.open("a")
	first, second := a.Lost(), a.Lost()
	if first != second {
		e.Error("Lost returns a different channel on each call")
	}
	a.hold()
	a.release()
	b := e.open("b")
	b.hold()
	b.release()
	select {
	case err := <-a.Lost():
		e.Errorf("after Release, Lost delivers %v", err)
	case <-time.After(e.wakes):
	}
}
