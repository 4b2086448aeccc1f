package slots

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// tryPause is between two attempts of a contender that does not wait to have the
// turnstile.
const tryPause = 50 * time.Millisecond

// tryLimit is how long such a contender tries, if slots seem to be free: others hold
// the turnstile for a few requests. It is shorter than the runner's limit for all of it.
func (c *campaign) tryLimit() time.Duration { return c.o.ConnectTimeout * 3 / 5 }

var errClosed = errors.New("the handle is closed")

// A campaign is one Acquire.
type campaign struct {
	*Lock
	try      bool
	gate     locks.Lock    // the turnstile's handle
	entered  bool          // the turnstile is ours
	lease    time.Duration // of a place in our queues
	slot     locks.Lock    // a slot that we hold, but may not have; nil: none
	number   int
	grant    locks.Grant
	squatted map[int]bool // slots that are held without a word in the record
	telling  sync.Mutex   // calls of Options.Waiting
}

// Acquire implements [locks.Lock].
func (l *Lock) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &campaign{Lock: l, try: try, squatted: map[int]bool{}}
	if err := c.begin(ctx, cancel); err != nil {
		return locks.Grant{}, err
	}
	err := c.run(ctx)
	if err == nil {
		err = c.finish(ctx)
	}
	if err != nil {
		c.undo(ctx)
		return locks.Grant{}, l.reason(err)
	}
	return c.grant, nil
}

// begin takes the turnstile's handle, or a new one if that has served.
func (c *campaign) begin(ctx context.Context, cancel context.CancelFunc) error {
	c.mu.Lock()
	c.cancel, c.gate = cancel, c.Lock.gate
	closed, served := c.closed, c.Lock.slot != nil
	c.mu.Unlock()
	switch {
	case closed:
		return errClosed
	case served:
		return errors.New("the handle has served its term")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.gate == nil {
		gate, err := c.turnstile(ctx)
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.Lock.gate, c.gate = gate, gate
		c.mu.Unlock()
	}
	if err := c.add(c.gate); err != nil {
		return err
	}
	if err := locks.Require(ctx, c.gate, "--slots", locks.CanInspect, locks.CanRecord); err != nil {
		c.drop(c.gate)
		return err
	}
	return nil
}

// reason is the error of an Acquire that failed with err.
func (l *Lock) reason(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed
	}
	return err
}

// run returns without an error when a slot is ours and the record says so.
func (c *campaign) run(ctx context.Context) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	for {
		v, err := c.look(ctx, c.gate, c.number)
		if err != nil {
			return err
		}
		c.compare(v)
		room := v.room(c.n)
		switch {
		case c.slot != nil && room && c.number <= c.n:
			return c.record(ctx, v)
		case c.slot != nil:
			err = c.giveBack(ctx)
		case room:
			err = c.take(ctx, v.free())
		case c.try:
			err = &locks.HeldError{Status: v.somebody()}
		default:
			err = c.await(ctx, v)
		}
		if err != nil {
			return err
		}
	}
}

// enter has the turnstile.
func (c *campaign) enter(ctx context.Context) error {
	stop := c.narrate(ctx)
	defer stop()
	end := time.Now().Add(c.tryLimit())
	for {
		g, err := c.gate.Acquire(ctx, c.try)
		if err == nil {
			c.entered, c.lease = true, g.TTL
			return nil
		}
		var held *locks.HeldError
		if !errors.As(err, &held) {
			return err
		}
		// Somebody else is at work, or waits.
		v, bad := c.glance(ctx, c.gate)
		switch {
		case bad == nil && !v.room(c.n):
			return &locks.HeldError{Status: v.somebody()}
		case !c.try || time.Now().After(end):
			return err
		}
		if err := sleep(ctx, tryPause/2+rand.N(tryPause)); err != nil {
			return err
		}
	}
}

// take takes a slot that is free, unless somebody is in it of whom the record
// says nothing.
func (c *campaign) take(ctx context.Context, number int) error {
	h, err := c.handle(ctx, number, nil)
	if err != nil {
		return err
	}
	if err := c.add(h); err != nil {
		return err
	}
	g, err := h.Acquire(ctx, true)
	if err == nil {
		c.slot, c.number, c.grant = h, number, g
		return nil
	}
	c.drop(h)
	_ = h.Close() // it holds nothing
	if errors.Is(err, locks.ErrHeld) {
		c.squatted[number] = true
		return nil
	}
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	if err := backoff.Sleep(ctx, d); err != nil {
		return fmt.Errorf("wait for a slot: %w", err)
	}
	return nil
}
