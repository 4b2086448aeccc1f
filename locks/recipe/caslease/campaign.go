package caslease

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A campaign is one Acquire. It looks at the cell, takes the lock if it is to
// be had, and else waits and looks again. Those who wait only read: they leave
// nothing behind, and there is no order among them.
type campaign struct {
	*Lock
	try     bool
	pause   backoff.Backoff // between reads that fail
	retry   backoff.Backoff // between writes that fail
	spread  bool            // the first pause has been made
	told    locks.Status    // what Waiting was told last
	dirty   bool            // a write was sent that may have made the lock ours
	failing clock.Instant   // since when writes fail for a reason that may pass; 0: they do not
}

// run returns the term once the lock is ours.
func (c *campaign) run(ctx context.Context) (*term, error) {
	defer c.setWaiting(false)
	v, err := c.firstLook(ctx)
	for err == nil {
		if v.foreign != nil {
			return nil, c.foreign(Lease, v.foreign, c.traits.HintForeign)
		}
		left, by := c.left(v)
		if left > 0 {
			if v, err = c.wait(ctx, v, left); err == nil {
				continue
			}
			return nil, err
		}
		var t *term
		if t, err = c.take(ctx, v, by); t != nil || err != nil {
			return t, err
		}
		v, err = c.firstLook(ctx) // somebody else was faster, or it is not known who was
	}
	return nil, err
}

// left is how long the lock is surely held by somebody else, and what that is judged
// by; 0 or less: not.
func (c *campaign) left(v *view) (left time.Duration, by Expiry) {
	switch {
	case !v.exists(), v.state.Is == free:
		return 0, ByWatching
	case c.ours(v): // an attempt of our own that came to nothing: nobody relies on it
		return c.rest(v), ByWatching
	}
	return c.observer.left(v)
}

// ours reports that an attempt of this handle made what a view shows.
func (l *Lock) ours(v *view) bool { return strings.HasPrefix(v.state.Nonce, l.id+".") }

// wait waits for a while and looks again. With try it does not wait.
func (c *campaign) wait(ctx context.Context, v *view, left time.Duration) (*view, error) {
	heldBy := &locks.HeldError{Status: v.status()}
	if c.ours(v) {
		heldBy.Status = c.doubted.status()
	}
	if c.try {
		return nil, heldBy
	}
	c.failing = 0
	c.retry.Reset()
	c.setWaiting(true)
	defer c.setWaiting(false)
	if s := heldBy.Status; c.o.Waiting != nil && s != c.told {
		c.told = s
		c.o.Waiting(locks.Waiting{Status: s})
	}
	pause := c.traits.poll(left, c.listens())
	if !c.spread { // a fleet that began to wait at one moment is to look at different ones
		c.spread, pause = true, randomBelow(pause)
	}
	if c.ear.sleep(ctx, pause) != nil {
		return nil, heldBy
	}
	return c.look(ctx)
}

// setWaiting says whether a Renew beside us has nothing to renew, and knows it.
func (l *Lock) setWaiting(waiting bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = waiting
}

// firstLook reads the cell, within the connect timeout. What may pass is
// tried again; an address where nobody is reachable is reported at once.
func (c *campaign) firstLook(ctx context.Context) (*view, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.ConnectTimeout)
	defer cancel()
	var last error
	for start := c.now(); ; {
		v, err := c.readOnce(ctx, Lease)
		if err == nil {
			c.pause.Reset()
			return v, nil
		}
		if last == nil || !isContext(err) {
			last = err // better than that the time is up
		}
		if kind := c.kind(err); !kind.transient() || kind == Unreachable || c.late(start, c.pause.Next()) || c.pause.Wait(ctx) != nil {
			return nil, last
		}
	}
}

// late reports that what began at a moment is not to be tried again after a
// pause: an answer that says what is wrong is to arrive before whoever waits
// for it has gone.
func (l *Lock) late(start clock.Instant, pause time.Duration) bool {
	return l.now().Sub(start)+pause > l.o.ConnectTimeout*3/4
}

// look reads the cell while we wait, however long that takes: there is
// nothing of ours that could end meanwhile.
func (c *campaign) look(ctx context.Context) (*view, error) {
	for warned := false; ; warned = true {
		v, err := c.readOnce(ctx, Lease)
		if err == nil {
			c.pause.Reset()
			return v, nil
		}
		if !c.kind(err).transient() {
			return nil, err
		}
		if !warned {
			c.log.Warn("the wait is disturbed; trying again", "err", c.plain(err))
		}
		if c.pause.Wait(ctx) != nil {
			return nil, err
		}
	}
}

// take tries to make the lock ours, if it is still as a view showed it. It
// returns no term and no error if it is worth another look.
func (c *campaign) take(ctx context.Context, v *view, by Expiry) (*term, error) {
	t := c.newTerm(v)
	if !c.ours(v) {
		c.doubted = nil
	}
	var over time.Duration
	switch by {
	case ByStamps:
		c.doubt(v, t)
	case ByClock:
		over = c.traits.over(v)
	}
	after, err := c.write(ctx, v, t, over)
	why := err
	c.dirty = c.dirty || err == nil || !c.kind(err).refused()
	if err != nil && c.kind(err) == Unknown {
		after, err = c.resolve(ctx, t, err)
	}
	if err == nil && after != nil && v.exists() {
		err = c.traits.renewed(after, v)
	}
	switch {
	case err != nil:
		return nil, c.failed(ctx, err)
	case after == nil: // it did not, or too long ago
		return nil, c.again(ctx, why, backoffMin)
	}
	if left := c.rest(after); left > 0 {
		c.log.Warn("a clock between here and the store is wrong; the previous lease has not ended", "left", left)
		return nil, nil
	}
	t.state.TTLms = c.ttl.Milliseconds()
	t.at(after)
	return t, nil
}

// failed pauses for a while, if the write is worth another look and another attempt;
// otherwise it returns why not.
func (c *campaign) failed(ctx context.Context, err error) error {
	switch c.kind(err) {
	case Changed:
		return backoff.Sleep(ctx, randomBelow(c.traits.ahead()))
	case Throttled:
		return c.again(ctx, err, c.traits.Pace)
	case Unsent, unmoved: // by a clock that was set back it has moved next time
		return c.again(ctx, err, backoffMin)
	}
	return err
}

// again pauses for a while, and that much at least, before the next attempt to
// write, unless they have been failing for too long.
func (c *campaign) again(ctx context.Context, why error, pause time.Duration) error {
	if c.failing == 0 {
		c.failing = c.now()
	}
	c.retry.AtLeast(pause)
	if c.late(c.failing, c.retry.Next()*3/4) {
		return why
	}
	return c.retry.Wait(ctx)
}

func (c *campaign) write(ctx context.Context, v *view, t *term, over time.Duration) (*view, error) {
	ctx, linger := lingering(ctx, lingerTime)
	defer linger()
	ctx, cancel := context.WithTimeout(ctx, c.o.ConnectTimeout/2)
	defer cancel()
	t.sent = c.now()
	return c.swap(ctx, Lease, v, Value{State: t.state.encode(), MinAge: over})
}

// resolve finds out, by its nonce, whether a write took effect whose answer was
// lost. It returns no view if it did not, or so long ago that too little of the
// lease is left: then the next attempt takes over from this one.
func (c *campaign) resolve(ctx context.Context, t *term, why error) (*view, error) {
	c.log.Debug("looking whether a write took effect", "err", c.plain(why))
	v, err := c.firstLook(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w; and what became of it is not known: %w", why, err)
	}
	if v.foreign != nil || v.state.Nonce != t.state.Nonce || v.state.Is != held || c.now().Sub(t.sent) > c.ttl/2 {
		return nil, nil
	}
	if !c.traits.ReadsEarly {
		return v, nil
	}
	return c.swap(ctx, Lease, v, Value{State: t.state.renewed(v).encode(), Silent: true})
}

// undo frees what a failed campaign may have left, unless that replaced a term
// which may still last: then it is left to say so. It is not bound to the
// caller's patience, which may have ended.
func (c *campaign) undo(ctx context.Context) {
	if !c.dirty {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	v, err := c.read(ctx, Lease)
	if err == nil && v.exists() && v.foreign == nil && v.state.Is == held && c.ours(v) && c.rest(v) <= 0 {
		_, err = c.swap(ctx, Lease, v, Value{State: v.state.freed().encode()})
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		c.log.Warn("cannot undo an acquire; its lease will run out", "err", c.plain(err), "ttl", c.ttl)
	}
}
