package gcs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backoff"
	"github.com/leaderrun/leaderrun/locks/clock"
)

// A campaign is one Acquire. It looks at the object, takes the lock if it is to
// be had, and else waits and looks again. Those who wait only read: they leave
// nothing behind, and there is no order among them.
type campaign struct {
	*Lock
	try      bool
	observer observer
	pause    backoff.Backoff // between reads that fail
	retry    backoff.Backoff // between writes that fail
	spread   bool            // the first pause has been made
	told     locks.Status    // what Waiting was told last
	dirty    bool            // a write was sent that may have made the lock ours
	failing  clock.Instant   // since when writes fail for a reason that may pass; 0: they do not
}

// run returns the term once the lock is ours.
func (c *campaign) run(ctx context.Context) (*term, error) {
	defer c.setWaiting(false)
	v, err := c.firstLook(ctx)
	for err == nil {
		if v.foreign != nil {
			return nil, &foreignError{c.c, v.foreign}
		}
		left, proved := c.left(v)
		if left > 0 {
			if v, err = c.wait(ctx, v, left); err == nil {
				continue
			}
			return nil, err
		}
		var t *term
		if t, err = c.take(ctx, v, proved); t != nil || err != nil {
			return t, err
		}
		v, err = c.firstLook(ctx) // somebody else was faster, or it is not known who was
	}
	return nil, err
}

// left is how long the lock is surely held by somebody else; 0 or less: not.
func (c *campaign) left(v *view) (left time.Duration, proved bool) {
	switch {
	case !v.exists, v.record.State == free:
		return 0, true
	case c.ours(v): // an attempt of our own that came to nothing: nobody relies on it
		return c.rest(v), true
	}
	return c.observer.left(v)
}

// ours reports that an attempt of this handle made what a view shows.
func (l *Lock) ours(v *view) bool { return strings.HasPrefix(v.record.Nonce, l.id+".") }

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
	pause := poll(left)
	if !c.spread { // a fleet that began to wait at one moment is to look at different ones
		c.spread, pause = true, randomBelow(pause)
	}
	if backoff.Sleep(ctx, pause) != nil {
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

// firstLook reads the object, within the connect timeout. What may pass is
// tried again; an address where nobody is reachable is reported at once.
func (c *campaign) firstLook(ctx context.Context) (*view, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.ConnectTimeout)
	defer cancel()
	var last error
	for start := now(); ; {
		v, err := c.readOnce(ctx, c.c)
		if err == nil {
			c.pause.Reset()
			return v, nil
		}
		if last == nil || !isContext(err) {
			last = err // better than that the time is up
		}
		if !transient(err) || unreachable(err) || c.late(start, c.pause.Next()) || c.pause.Wait(ctx) != nil {
			return nil, last
		}
	}
}

// late reports that what began at a moment is not to be tried again after a
// pause: an answer that says what is wrong is to arrive before whoever waits
// for it has gone.
func (l *Lock) late(start clock.Instant, pause time.Duration) bool {
	return now().Sub(start)+pause > l.o.ConnectTimeout*3/4
}

// look reads the object while we wait, however long that takes: there is
// nothing of ours that could end meanwhile.
func (c *campaign) look(ctx context.Context) (*view, error) {
	for warned := false; ; warned = true {
		v, err := c.readOnce(ctx, c.c)
		if err == nil {
			c.pause.Reset()
			return v, nil
		}
		if !transient(err) {
			return nil, err
		}
		if !warned {
			c.log.Warn("the wait is disturbed; trying again", "err", plain(err))
		}
		if c.pause.Wait(ctx) != nil {
			return nil, err
		}
	}
}

// readOnce reads once, but does not wait for ever for an answer: on another
// connection it may come.
func (l *Lock) readOnce(ctx context.Context, c *client) (*view, error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout/2)
	defer cancel()
	return c.read(ctx)
}

// take tries to make the lock ours, if it is still as a view showed it. It
// returns no term and no error if it is worth another look.
func (c *campaign) take(ctx context.Context, v *view, proved bool) (*term, error) {
	t := c.newTerm(v)
	if !c.ours(v) {
		c.doubted = nil
	}
	if !proved {
		c.doubt(v, t)
	}
	after, err := c.write(ctx, v, t)
	why := err
	c.dirty = c.dirty || !refused(why)
	if err != nil && !refused(err) && !isA[*unmovedError](err) {
		after, err = c.resolve(ctx, t, err)
	}
	if err == nil && after != nil && v.exists {
		err = after.renewed(v)
	}
	switch {
	case stale(err) && !bucketMissing(err):
		return nil, backoff.Sleep(ctx, randomBelow(ahead))
	case throttle(err):
		return nil, c.again(ctx, err, throttled)
	case isA[*unmovedError](err): // by a clock that was set back it has next time
		return nil, c.again(ctx, err, backoffMin)
	case err != nil:
		return nil, err
	case after == nil: // it did not, or too long ago
		return nil, c.again(ctx, why, backoffMin)
	}
	if left := c.rest(after); left > 0 {
		c.log.Warn("a clock between here and Cloud Storage is wrong; the previous lease has not ended", "left", left)
		return nil, nil
	}
	t.record.TTLms = c.ttl.Milliseconds()
	t.at(after)
	return t, nil
}

// again pauses for a while, and that much at least, before the next attempt to
// write, unless they have been failing for too long.
func (c *campaign) again(ctx context.Context, why error, pause time.Duration) error {
	if c.failing == 0 {
		c.failing = now()
	}
	c.retry.AtLeast(pause)
	if c.late(c.failing, c.retry.Next()*3/4) {
		return why
	}
	return c.retry.Wait(ctx)
}

func (c *campaign) write(ctx context.Context, v *view, t *term) (*view, error) {
	ctx, linger := lingering(ctx, lingerTime)
	defer linger()
	ctx, cancel := context.WithTimeout(ctx, c.o.ConnectTimeout/2)
	defer cancel()
	t.sent = now()
	if !v.exists {
		return c.c.create(ctx, t.record.metadata())
	}
	return c.c.patch(ctx, v, t.record.metadata())
}

// resolve finds out, by its nonce, whether a write took effect whose answer was
// lost. It returns no view if it did not, or so long ago that too little of the
// lease is left: then the next attempt takes over from this one.
func (c *campaign) resolve(ctx context.Context, t *term, why error) (*view, error) {
	c.log.Debug("looking whether a write took effect", "err", plain(why))
	v, err := c.firstLook(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w; and what became of it is not known: %w", why, err)
	}
	if v.foreign != nil || v.record.Nonce != t.record.Nonce || v.record.State != held || now().Sub(t.sent) > c.ttl/2 {
		return nil, nil
	}
	return v, nil
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
	v, err := c.c.read(ctx)
	if err == nil && v.exists && v.foreign == nil && v.record.State == held && c.ours(v) && c.rest(v) <= 0 {
		_, err = c.c.patch(ctx, v, v.record.freed().metadata())
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		c.log.Warn("cannot undo an acquire; its lease will run out", "err", plain(err), "ttl", c.ttl)
	}
}
