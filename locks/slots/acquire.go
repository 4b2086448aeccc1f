package slots

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/ledger"
)

const (
	// tryLimit is how long a contender that does not wait tries to have the
	// turnstile, if slots seem to be free: others hold it for a few requests. It
	// is shorter than the runner's limit for all of it.
	tryLimit = 3 * time.Second
	tryPause = 50 * time.Millisecond
	// undoLimit bounds what is undone when nobody waits for it any more.
	undoLimit = time.Second
	// writes is how often a record is tried to be written.
	writes = 3
)

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
	end := time.Now().Add(tryLimit)
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

// record has the record say that the slot is ours, as long as the turnstile is.
// Slots that are free are left out from then on.
func (c *campaign) record(ctx context.Context, v *view) error {
	record := v.record
	for number := range record.Slots {
		if _, held := v.held[number]; !held {
			delete(record.Slots, number)
		}
	}
	if record.Slots == nil {
		record.Slots = map[int]ledger.Slot{}
	}
	record.Slots[c.number] = ledger.Slot{N: c.n, Token: c.grant.Token}
	text, err := record.Encode()
	if err != nil {
		return err
	}
	for range writes {
		if err = c.write(ctx, text); err == nil || errors.Is(err, locks.ErrLost) || errors.Is(err, locks.ErrDenied) || ctx.Err() != nil {
			return err
		}
	}
	return err
}

func (c *campaign) write(ctx context.Context, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.ConnectTimeout)
	defer cancel()
	return c.gate.(locks.Recorder).SetRecord(ctx, text) // as required
}

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

// compare tells, once, that somebody has another N.
func (c *campaign) compare(v *view) {
	least := v.least()
	if v.unknown || least == 0 || least == c.n {
		return
	}
	level := c.log.Info
	what := "the holders allow more slots than we do; our number counts"
	if least < c.n {
		what = "a holder allows fewer slots than we do; its number counts"
		if !v.room(c.n) && len(v.held) < c.n {
			level = c.log.Warn // there are slots that we may not have
		}
	}
	c.once(what, func() { level(what, "slots", c.n, "theirs", least) })
}

// once does something that is worth to be done once.
func (l *Lock) once(what string, do func()) {
	l.mu.Lock()
	told := l.warned[what]
	l.warned[what] = true
	l.mu.Unlock()
	if !told {
		do()
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for a slot: %w", ctx.Err())
	}
}
