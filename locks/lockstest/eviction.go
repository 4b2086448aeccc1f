package lockstest

import (
	"errors"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

func evictionIsLoss(e *env) {
	a := e.open("a")
	a.hold()
	stop := a.keep()
	b := e.open("b").campaign()
	b.queued()
	_ = stop()
	e.evict()
	if lost := a.Lost(); lost != nil && !e.c.Unwatched {
		select {
		case err := <-lost:
			if !errors.Is(err, locks.ErrLost) {
				e.Errorf("Lost delivers %v; want ErrLost", err)
			}
		case <-time.After(e.noticed):
			e.Errorf("Lost has delivered nothing within %v", e.noticed)
		}
	}
	if err := a.renew(); !errors.Is(err, locks.ErrLost) {
		e.Errorf("Renew after eviction: got %v; want ErrLost", err)
	}
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

// releaseIsNoLoss: what we do ourselves is not reported as a loss.
func releaseIsNoLoss(e *env) {
	a := e.open("a")
	first, second := a.Lost(), a.Lost()
	if first != second {
		e.Error("Lost is another channel on each call")
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
