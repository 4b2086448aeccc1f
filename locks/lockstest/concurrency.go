package lockstest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// renewAtTheGrant renews during Acquire, while the lock passes from hand to hand. On a
// busy machine, so many renewals may starve a campaign, so they end after a while.
func renewAtTheGrant(e *env) {
	a := e.open("first")
	a.hold()
	for i := range 10 {
		b := e.open(fmt.Sprint("waiter ", i))
		c := b.campaignRenewing(false)
		c.queued()
		renew := func() {
			if err := b.renew(); errors.Is(err, locks.ErrLost) {
				e.Errorf("Renew during Acquire: %v", err)
			}
		}
		renew()
		var wg sync.WaitGroup
		wg.Go(func() {
			for end := time.Now().Add(e.prompt / 4); c.pending() && time.Now().Before(end); {
				renew()
				pause(rand.N(time.Millisecond))
			}
		})
		a.release()
		c.won(2*e.prompt + e.c.Polling)
		wg.Wait()
		if err := b.renew(); e.c.TTL > 0 && err != nil {
			e.Errorf("Renew after Acquire: %v", err)
		}
		a = b
	}
	a.release()
	e.free()
}

// concurrentClose makes all calls that may be concurrent.
func concurrentClose(e *env) {
	for i := range e.times(10) {
		k := e.open(fmt.Sprint("holder ", i))
		held := i%2 == 0
		c := k.campaignRenewing(held)
		if held {
			c.won(e.c.TTL + e.late())
		}
		ctx, cancel := context.WithTimeout(context.Background(), e.prompt)
		var wg sync.WaitGroup
		for _, f := range []func(){
			func() { _ = k.Renew(ctx) },
			func() { _ = k.Release(ctx) },
			func() { _ = k.Release(ctx) },
			func() { _ = k.Close() },
			func() { _ = k.Close() },
			func() { _ = k.Lost() },
		} {
			wg.Go(f)
		}
		wg.Wait()
		if ctx.Err() != nil {
			e.Errorf("concurrent Renew, Release and Close took over %v", e.prompt)
		}
		cancel()
		c.cancel()
		c.ended(e.prompt)
		_ = k.giveUp() // the lock may have been granted; on a closed handle this may do nothing
	}
	last := e.open("last").campaign() // a lock that was closed before its release ends with its lease
	last.won(e.c.TTL + e.late())
	last.k.release()
	e.eventually(e.c.TTL+e.late(), "nothing is left", func() bool { return len(e.leftovers()) == 0 })
}

// silentWaiter has neither a callback nor a logger.
func silentWaiter(e *env) {
	a := e.open("holder")
	a.hold()
	a.keep()
	o := e.options("waiter")
	o.Waiting = nil
	l, err := e.c.Open(e.patient(), e.u, o)
	if err != nil {
		e.Fatalf("open: %v", err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), e.wakes)
	defer cancel()
	if _, err := l.Acquire(ctx, false); !errors.Is(err, context.DeadlineExceeded) && !(e.c.Polling > 0 && errors.Is(err, locks.ErrHeld)) {
		e.Errorf("Acquire of a held lock: %v", err)
	}
	a.release()
	e.free()
}
