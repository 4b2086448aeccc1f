package slots

import (
	"context"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// undoLimit bounds what is undone after the caller's context has ended.
const undoLimit = time.Second

// giveBack releases the slot that we have taken.
func (c *campaign) giveBack(ctx context.Context) error {
	h := c.taken.handle
	c.taken = nil
	c.lock.drop(h)
	defer func() { _ = h.Close() }() // if it was not released, its lease runs out
	return h.Release(ctx)
}

// finish makes the slot that we have taken the Lock's, and releases the turnstile.
func (c *campaign) finish(ctx context.Context) error {
	l := c.lock
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.slot, l.number = c.taken.handle, c.taken.number
		l.turnstile, l.secrets = nil, locks.SecretEnv(l.slot)
		delete(l.renewable, c.turnstile)
		delete(l.renewable, l.slot)
	}
	l.mu.Unlock()
	if closed {
		return errClosed
	}
	l.forwardLoss(c.taken.handle)
	c.leave(ctx)
	return nil
}

// leave releases the turnstile.
func (c *campaign) leave(ctx context.Context) {
	err := release(ctx, c.turnstile, c.lock.o.ConnectTimeout)
	if ctx.Err() != nil {
		err = release(context.WithoutCancel(ctx), c.turnstile, undoLimit)
	}
	if err != nil {
		c.lock.log.Warn("cannot release the turnstile; others get a slot only after its lease ends", "ttl", c.lease, "err", err)
	}
	_ = c.turnstile.Close() // it was released, or its lease runs out
}

func release(ctx context.Context, h locks.Lock, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return h.Release(ctx)
}

// undo releases what a failed Acquire has acquired.
func (c *campaign) undo(ctx context.Context) {
	l := c.lock
	l.drop(c.turnstile)
	if !c.entered { // the handle may be used again
		return
	}
	var all sync.WaitGroup
	all.Go(func() { c.leave(ctx) })
	if c.taken != nil {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
			defer cancel()
			if err := c.giveBack(ctx); err != nil {
				l.log.Warn("cannot release a slot; it is free only after its lease ends", "ttl", c.lease, "err", err)
			}
		})
	}
	all.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turnstile, l.secrets = nil, locks.SecretEnv(c.turnstile)
}
