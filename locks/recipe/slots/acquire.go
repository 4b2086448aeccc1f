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

// tryPause is the pause between two attempts of a contender that does not wait to acquire the
// turnstile.
const tryPause = 50 * time.Millisecond

// tryLimit is how long such a contender tries, if slots seem to be free: others hold the
// turnstile for a few requests. It is shorter than the runner's limit for the whole attempt.
func (c *campaign) tryLimit() time.Duration { return c.lock.o.ConnectTimeout * 3 / 5 }

var errClosed = errors.New("the handle is closed")

// A campaign is one Acquire.
type campaign struct {
	lock       *Lock
	try        bool
	turnstile  locks.Lock
	entered    bool                 // we have the turnstile
	lease      time.Duration        // of our places in the queues
	taken      *slot                // not yet in the record, so we may have to give it back; nil: none
	confirm    time.Duration        // the Status.Confirm of any slot that we wait for
	unrecorded map[int]bool         // slots that are held but are not in the record
	refused    map[int]locks.Status // what a try has said of slots that look free
	waitingMu  sync.Mutex           // held for a call of Options.Waiting
	reported   locks.Status         // what it was last called with; guarded by waitingMu
}

// A slot is one that a campaign has taken, or wants to take.
type slot struct {
	handle locks.Lock
	number int
	grant  locks.Grant
}

// Acquire implements [locks.Lock].
func (l *Lock) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &campaign{lock: l, try: try, unrecorded: map[int]bool{}, refused: map[int]locks.Status{}}
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
	return c.taken.grant, nil
}

// begin takes over the Lock's handle on the turnstile, or opens a new one if that has been
// used.
func (c *campaign) begin(ctx context.Context, cancel context.CancelFunc) error {
	l := c.lock
	l.mu.Lock()
	l.cancel, c.turnstile = cancel, l.turnstile
	closed, used := l.closed, l.slot != nil
	l.mu.Unlock()
	switch {
	case closed:
		return errClosed
	case used:
		return errors.New("the handle has already served a term")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.turnstile == nil {
		turnstile, err := l.openTurnstile(ctx)
		if err != nil {
			return err
		}
		l.mu.Lock()
		l.turnstile, c.turnstile = turnstile, turnstile
		l.mu.Unlock()
	}
	if err := l.add(c.turnstile); err != nil {
		return err
	}
	if err := locks.Require(ctx, c.turnstile, "--slots", locks.CanInspect, locks.CanRecord); err != nil {
		l.drop(c.turnstile)
		return err
	}
	return nil
}

// reason returns the error of an Acquire that failed with err.
func (l *Lock) reason(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed
	}
	return err
}

// run returns nil when we have taken a slot and the record says so.
func (c *campaign) run(ctx context.Context) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	n := c.lock.n
	for {
		v, err := c.look(ctx)
		if err != nil {
			return err
		}
		c.warnOfOtherN(v)
		room := v.room(n)
		switch {
		case c.taken != nil && room && c.taken.number <= n:
			return c.record(ctx, v)
		case c.taken != nil:
			err = c.giveBack(ctx)
		case room:
			err = c.take(ctx, v.free())
		case c.try && v.ended(c.unrecorded) > 0:
			err = c.take(ctx, v.ended(c.unrecorded))
		case c.try:
			err = &locks.HeldError{Status: v.firstHolder()}
		default:
			err = c.await(ctx, v)
		}
		if err != nil {
			return err
		}
	}
}

// enter acquires the turnstile.
func (c *campaign) enter(ctx context.Context) error {
	stop := c.reportPlace(ctx)
	defer stop()
	end := time.Now().Add(c.tryLimit())
	for {
		g, err := c.turnstile.Acquire(ctx, c.try)
		if err == nil {
			c.entered, c.lease = true, g.TTL
			return nil
		}
		var held *locks.HeldError
		if !errors.As(err, &held) || ctx.Err() != nil {
			return c.over(ctx, err)
		}
		// Somebody else has the turnstile: it is taking a slot, or waits for one.
		v, bad := c.lock.glance(ctx, c.turnstile)
		switch {
		case bad == nil && !v.room(c.lock.n):
			return &locks.HeldError{Status: v.firstHolder()}
		case !c.try || time.Now().After(end):
			return err
		}
		if err := sleep(ctx, tryPause/2+rand.N(tryPause)); err != nil {
			return err
		}
	}
}

// take tries to take a slot that seems to be free, or whose lease has ended. If somebody holds it
// after all, the slot is added to unrecorded and refused.
func (c *campaign) take(ctx context.Context, number int) error {
	h, err := c.lock.handle(ctx, number, nil)
	if err != nil {
		return err
	}
	if err := c.lock.add(h); err != nil {
		return err
	}
	g, err := h.Acquire(ctx, true)
	if err == nil {
		c.taken = &slot{h, number, g}
		return nil
	}
	c.lock.drop(h)
	_ = h.Close() // it holds nothing
	held, ok := errors.AsType[*locks.HeldError](err)
	if !ok {
		return err
	}
	held.Status.Held = true // whatever is known
	c.unrecorded[number], c.refused[number] = true, held.Status
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	if err := backoff.Sleep(ctx, d); err != nil {
		return fmt.Errorf("wait for a slot: %w", err)
	}
	return nil
}
