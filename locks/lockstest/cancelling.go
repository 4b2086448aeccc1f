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

// cancelledWaiter checks that a cancelled waiter leaves the queue without a trace.
func cancelledWaiter(e *env) {
	a := e.open("holder")
	a.hold()
	stop := a.keep()
	before := e.leftovers()
	for range 2 {
		c := e.open("waiter").campaign()
		c.queued()
		c.cancel()
		c.ended(e.prompt)
		if !errors.Is(c.err, context.Canceled) {
			e.Fatalf("cancelled Acquire: got %v; want an error that wraps context.Canceled", c.err)
		}
		if after := e.leftovers(); len(after) != len(before) {
			e.Errorf("stored before the waiter came: %q, and after it left: %q", before, after)
		}
	}
	last := e.open("last").campaign()
	last.queued()
	_ = stop()
	a.release()
	last.won(e.undo() + e.c.Polling)
	last.k.release()
	e.free()
	e.clean()
}

// cancelAtRandomMoments cancels Acquire at any point, while the lock passes from hand to
// hand.
func cancelAtRandomMoments(e *env) {
	first := e.open("measure")
	start := time.Now()
	first.hold()
	first.release()
	usual := max(2*time.Since(start), 2*time.Millisecond)

	const rounds, contenders = 8, 5
	granted := 0
	for round := range rounds {
		granted += cancelRound(e, round, contenders, usual)
		e.free()
	}
	e.Logf("%d of %d campaigns had the lock before they were cancelled", granted, rounds*contenders)
}

func cancelRound(e *env, round, contenders int, usual time.Duration) int {
	var wg sync.WaitGroup
	var mu sync.Mutex
	granted := 0
	for i := range contenders {
		wg.Go(func() {
			k, err := e.tryOpen(e.u, e.options(fmt.Sprintf("contender %d.%d", round, i)))
			if err != nil {
				e.Errorf("open: %v", err)
				return
			}
			defer k.Close()
			ctx, cancel := context.WithTimeout(context.Background(), rand.N(usual))
			defer cancel()
			_, err = k.Acquire(ctx, i == 0)
			switch {
			case err == nil:
				mu.Lock()
				granted++
				mu.Unlock()
				pause(rand.N(usual)) // so that some are cancelled while they wait
				if err := k.giveUp(); err != nil {
					e.Errorf("release: %v", err)
				}
			case errors.Is(err, context.DeadlineExceeded), errors.Is(err, locks.ErrHeld) && (i == 0 || e.c.Polling > 0):
			default:
				e.Errorf("acquire: %v", err)
			}
		})
	}
	wg.Wait()
	return granted
}

func contextAlreadyEnded(e *env) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	check := func(what string, f func() error) {
		e.Helper()
		start := time.Now()
		if err := f(); !errors.Is(err, context.Canceled) {
			e.Errorf("%s with an ended context: got %v; want an error that wraps context.Canceled", what, err)
		}
		if took := time.Since(start); took > e.prompt {
			e.Errorf("%s with an ended context took %v", what, took)
		}
	}
	for what, try := range map[string]bool{"Acquire": false, "Acquire with try": true} {
		k := e.open("late")
		check(what, func() error { _, err := k.Acquire(ended, try); return err })
	}
	e.clean()
	k := e.open("holder")
	k.hold()
	if e.c.TTL > 0 {
		check("Renew", func() error { return k.Renew(ended) })
	}
	if err := k.Release(ended); err != nil && !errors.Is(err, context.Canceled) {
		e.Errorf("Release with an ended context: %v", err)
	}
	k.release()
	e.free()
}

func contextDeadline(e *env) {
	a := e.open("holder")
	a.hold()
	a.keep()
	b := e.open("waiter")
	const wait = 150 * time.Millisecond
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	_, err := b.acquire(ctx, false)
	if !errors.Is(err, context.DeadlineExceeded) {
		e.Errorf("got %v; want an error that wraps context.DeadlineExceeded", err)
	}
	if len(b.asked) > 0 && !errors.Is(err, locks.ErrHeld) {
		e.Errorf("got %v; want an error that says that the lock is held", err)
	}
	if took := time.Since(start); took < wait || took > wait+e.undo() {
		e.Errorf("waiting for %v took %v", wait, took)
	}
}
