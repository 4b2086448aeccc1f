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
	c.waited = true
	for pause := new(backoff.Backoff); ; {
		if v.Token != 0 && !c.placed {
			c.watchEntry(0)
			c.placed = true
		}
		if v.Leads {
			c.updateLater()
			return v.Token, nil
		}
		c.answers.Held(v.Status())
		c.report(v)
		if v, err = c.change(ctx, pause); err != nil {
			return 0, c.judge(err)
		}
	}
}

// change waits until the queue before us has changed, and returns its new state.
//
// A watch that is silent is no answer: so we also look once more before our time runs out.
func (c *Campaign) change(ctx context.Context, pause *backoff.Backoff) (View, error) {
	waiting, cancel := context.WithTimeout(ctx, c.answers.Look(ctx))
	err := c.entry.Await(waiting)
	if err != nil && waiting.Err() != nil && c.lock.fault(err).Timeout {
		err = nil // it is time to look
	}
	cancel()
	if err == nil {
		pause.Reset()
		if ctx.Err() != nil {
			return View{}, c.answers.Verdict(ctx.Err())
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
		f := c.lock.fault(err)
		if !f.Transient && !f.Timeout {
			return View{}, err
		}
		c.answers.Failed(err, f.Timeout)
		if !warned && ctx.Err() == nil {
			c.lock.Log.Warn("the wait is disturbed; trying again", "err", c.lock.Plain(err))
			warned = true
		}
		if pause.Wait(ctx) != nil {
			return View{}, c.answers.Verdict(err)
		}
		err = nil
	}
}

// report calls Options.Waiting with what we wait for.
func (c *Campaign) report(v View) {
	if c.lock.Options.Waiting != nil {
		c.lock.Options.Waiting(locks.Waiting{Status: v.Status(), Lease: c.TTL(), Position: v.Position})
	}
}
