package queue

import (
	"context"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// run returns the token once our entry leads.
func (c *Campaign) run(ctx context.Context, try bool) (token uint64, err error) {
	if c.resumed {
		return c.resume(ctx)
	}
	v, err := c.entry.Enter(ctx, try)
	switch {
	case err != nil:
		return 0, c.judge(err)
	case v.Leads:
		c.watchEntry(putOff)
		return v.Token, nil
	case try:
		return 0, &locks.HeldError{Status: v.Status()}
	}
	return c.wait(ctx, v)
}

// resume continues the wait of another handle.
func (c *Campaign) resume(ctx context.Context) (token uint64, err error) {
	looking, cancel := c.UntilOver(ctx)
	defer cancel()
	v, err := c.look(looking, new(backoff.Backoff), nil)
	if err != nil {
		return 0, c.judge(err)
	}
	return c.wait(ctx, v)
}

// wait waits until our entry leads. Without an entry yet, we wait outside the queue, and
// Look enters it when it may have become empty.
func (c *Campaign) wait(ctx context.Context, v View) (token uint64, err error) {
	ctx, cancel := c.UntilOver(ctx)
	defer cancel()
	for pause := new(backoff.Backoff); ; {
		if v.Token != 0 && !c.placed {
			c.watchEntry(0)
			c.placed = true
		}
		if v.Leads {
			c.updateLater()
			return v.Token, nil
		}
		c.report(v)
		if v, err = c.change(ctx, v, pause); err != nil {
			return 0, c.judge(err)
		}
	}
}

// change waits until the queue before us has changed, and returns its new state.
func (c *Campaign) change(ctx context.Context, v View, pause *backoff.Backoff) (View, error) {
	err := c.entry.Await(ctx)
	if err == nil {
		pause.Reset()
		if ctx.Err() != nil { // our time ran out while all was well
			return View{}, &locks.HeldError{Status: v.Status()}
		}
	}
	return c.look(ctx, pause, err)
}

// look returns the state of the queue after a watch has ended with err.
//
// When a watch ends, for whatever reason, that is treated like an event: we look at the
// queue again, and repeat that until there is an answer.
func (c *Campaign) look(ctx context.Context, pause *backoff.Backoff, err error) (View, error) {
	for warned := false; ; {
		if err == nil {
			var next View
			if next, err = c.entry.Look(ctx); err == nil {
				return next, nil
			}
		}
		if !c.lock.transient(err) {
			return View{}, err
		}
		if !warned && ctx.Err() == nil {
			c.lock.log.Warn("the wait is disturbed; trying again", "err", c.lock.plain(err))
			warned = true
		}
		if pause.Wait(ctx) != nil {
			return View{}, err
		}
		err = nil
	}
}

// report calls Options.Waiting with what we wait for.
func (c *Campaign) report(v View) {
	if c.lock.o.Waiting != nil {
		c.lock.o.Waiting(locks.Waiting{Status: v.Status(), Lease: c.TTL(), Position: v.Position})
	}
}
