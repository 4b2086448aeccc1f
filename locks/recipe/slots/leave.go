package slots

import (
	"context"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// undoLimit bounds what is undone when nobody waits for it any more.
const undoLimit = time.Second

// giveBack gives a slot up that is ours, and may not be.
func (c *campaign) giveBack(ctx context.Context) error {
	h := c.slot
	c.slot, c.number = nil, 0
	c.drop(h)
	defer func() { _ = h.Close() }() // what was not released ends with its lease
	return h.Release(ctx)
}

// finish makes the slot ours, and lets the next one through the turnstile.
func (c *campaign) finish(ctx context.Context) error {
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.Lock.slot, c.Lock.number = c.slot, c.number
		c.Lock.gate, c.secrets = nil, locks.SecretEnv(c.slot)
		delete(c.parts, c.gate)
		delete(c.parts, c.slot)
	}
	c.mu.Unlock()
	if closed {
		return errClosed
	}
	c.pass(c.slot)
	c.leave(ctx)
	return nil
}

// leave gives the turnstile up.
func (c *campaign) leave(ctx context.Context) {
	err := release(ctx, c.gate, c.o.ConnectTimeout)
	if ctx.Err() != nil {
		err = release(context.WithoutCancel(ctx), c.gate, undoLimit)
	}
	if err != nil {
		c.log.Warn("others can have a slot only when a lease is over that was not released", "ttl", c.lease, "err", err)
	}
	_ = c.gate.Close() // it was released, or ends with its lease
}

func release(ctx context.Context, h locks.Lock, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return h.Release(ctx)
}

// undo gives up what an Acquire has got that failed.
func (c *campaign) undo(ctx context.Context) {
	c.drop(c.gate)
	if !c.entered { // the handle may be used again
		return
	}
	var all sync.WaitGroup
	all.Go(func() { c.leave(ctx) })
	if c.slot != nil {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
			defer cancel()
			if err := c.giveBack(ctx); err != nil {
				c.log.Warn("a slot is free only when a lease is over that was not released", "ttl", c.lease, "err", err)
			}
		})
	}
	all.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Lock.gate = nil
}
