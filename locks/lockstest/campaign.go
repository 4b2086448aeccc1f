package lockstest

import (
	"context"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A campaign is an Acquire in the background, without try.
type campaign struct {
	k      *contender
	cancel context.CancelFunc
	done   chan struct{}

	// Valid once done is closed.
	grant locks.Grant
	err   error
	at    clock.Instant // when Acquire returned
}

// campaign starts to wait for the lock. It renews its place in the queue.
func (k *contender) campaign() *campaign { return k.campaignRenewing(true) }

func (k *contender) campaignRenewing(renew bool) *campaign {
	ctx, cancel := context.WithTimeout(context.Background(), k.e.patience)
	c := &campaign{k: k, cancel: cancel, done: make(chan struct{})}
	renewing, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	if renew && k.e.c.Places {
		wg.Go(func() { _ = k.renewUntil(renewing) })
	}
	wg.Go(func() {
		defer stop()
		c.grant, c.err = k.acquire(ctx, false)
		c.at = k.e.now()
	})
	go func() { wg.Wait(); close(c.done) }()
	k.e.Cleanup(func() { cancel(); <-c.done })
	return c
}

// queued waits until the campaign is known to wait.
func (c *campaign) queued() locks.Waiting {
	c.k.e.Helper()
	select {
	case w := <-c.k.asked:
		return w
	case <-c.done:
		c.k.e.Fatalf("%s: got %+v, %v instead of waiting", c.k.o.Holder, c.grant, c.err)
	case <-time.After(c.k.e.prompt + c.k.e.c.Polling):
		c.k.e.Fatalf("%s: Waiting was not called", c.k.o.Holder)
	}
	panic("unreachable")
}

// pending reports whether the campaign has not ended.
func (c *campaign) pending() bool {
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// ended waits for the campaign to end in any way.
func (c *campaign) ended(limit time.Duration) {
	c.k.e.Helper()
	select {
	case <-c.done:
	case <-time.After(limit):
		c.k.e.Fatalf("%s: Acquire has not returned within %v", c.k.o.Holder, limit)
	}
}

// won waits until the campaign has the lock.
func (c *campaign) won(limit time.Duration) locks.Grant {
	c.k.e.Helper()
	c.ended(limit)
	if c.err != nil {
		c.k.e.Fatalf("%s: acquire: %v", c.k.o.Holder, c.err)
	}
	return c.grant
}
