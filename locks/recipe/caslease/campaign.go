package caslease

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/answers"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A campaign is that of a handle. It reads the cell, takes the lock if that is possible, and
// otherwise waits and reads again. Waiters only read: they leave nothing in the store, and
// there is no order among them. A try that was refused may be repeated, and knows what earlier
// ones have seen.
type campaign struct {
	lock     *Lock
	observer observer
	doubt    doubt
	answers  *answers.Answers
	attempts int // to write a term
	try      bool
	pause    backoff.Backoff // between reads that fail, at first
	outage   backoff.Backoff // between those that fail while we wait
	retry    backoff.Backoff // between writes that fail
	paused   bool            // the first pause has been made
	pace     pace
	reported locks.Status  // the last status that was passed to Waiting, without the time to Confirm
	dirty    bool          // a write was sent that may have made the lock ours
	failing  clock.Instant // when writes began to fail for a reason that may pass; 0: they do not
	refused  *view         // what the last write was refused on, because the cell had changed; nil: it was not
	stuck    error         // the cell had not changed; nil: it had
}

func newCampaign(l *Lock) *campaign {
	return &campaign{
		lock: l, observer: observer{traits: l.traits}, answers: answers.New(l.traits.Clock, l.ttl, l.Options.ConnectTimeout),
		pause: newBackoff(), retry: newBackoff(), outage: newOutage(),
	}
}

// run returns the term once the lock is ours.
func (c *campaign) run(ctx context.Context, try bool) (*term, error) {
	c.try, c.dirty, c.failing, c.refused, c.stuck = try, false, 0, nil, nil
	defer c.lock.setWaiting(false)
	v, err := c.firstLook(ctx)
	for err == nil {
		if v.unreadable != nil {
			return nil, c.lock.foreign(Lease, v.unreadable)
		}
		left, by := c.left(v)
		if left > 0 {
			c.refused, c.stuck = nil, nil
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

// left returns how long somebody else may still hold the lock, and what that is judged by.
// 0 or less: the lock can be taken.
func (c *campaign) left(v *view) (left time.Duration, by Expiry) {
	switch {
	case v.Leased && !(c.lock.wrote(v) && v.state.Is == held):
		return c.lock.ttl, ByLease
	case !v.exists(), v.state.Is == free:
		return 0, ByWatching
	case c.lock.wrote(v): // an attempt of our own that failed: nobody relies on it
		return c.doubt.left(v, c.lock.traits), ByWatching
	}
	return c.observer.left(v)
}

// wrote reports whether an attempt of this handle made the term in a view.
func (l *Lock) wrote(v *view) bool { return strings.HasPrefix(v.state.Nonce, l.id+".") }

// wait waits for a while and looks again. With try it does not wait.
func (c *campaign) wait(ctx context.Context, v *view, left time.Duration) (*view, error) {
	heldBy := &locks.HeldError{Status: v.status()}
	if c.lock.wrote(v) {
		heldBy.Status = c.doubt.before.status()
	} else {
		heldBy.Status.Confirm = c.observer.present(v).Confirm
	}
	if c.try {
		return nil, heldBy
	}
	c.failing = 0
	c.retry.Reset()
	c.lock.setWaiting(true)
	defer c.lock.setWaiting(false)
	about := heldBy.Status
	about.Confirm = min(about.Confirm, 1) // each look changes it
	if c.lock.Options.Waiting != nil && about != c.reported {
		c.reported = about
		c.lock.Options.Waiting(locks.Waiting{Status: heldBy.Status})
	}
	watching := c.lock.startWatch()
	mean, slow := c.pace.next(c.lock.traits, v.state.ttl())
	pause := c.lock.traits.poll(left, mean, watching)
	if !c.paused { // a fleet that began to wait at one moment must not look at one moment
		c.paused, pause = true, rand.N(pause)
	}
	c.answers.Held(heldBy.Status)
	if store, ok := c.lock.store.(Rester); ok && slow && !watching {
		store.Rest()
	}
	if c.lock.watching.sleep(ctx, min(pause, c.answers.Look(ctx))) != nil {
		return nil, c.answers.Verdict(ctx.Err())
	}
	return c.look(ctx)
}

// setWaiting notes whether a concurrent Renew has nothing to renew.
func (l *Lock) setWaiting(waiting bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = waiting
}

// firstLook reads the cell, within the connect timeout. It retries errors that may pass, but
// reports an unreachable address at once. If the store has no room for us, there are two attempts.
func (c *campaign) firstLook(ctx context.Context) (*view, error) {
	ctx, cancel := context.WithTimeout(ctx, c.lock.Options.ConnectTimeout)
	defer cancel()
	last := c.stuck
	for start := c.lock.now(); ; {
		v, err := c.lock.readOnce(ctx, Lease)
		if err == nil {
			c.pause.Reset()
			return v, nil
		}
		if last == nil || !causes.IsContext(err) {
			last = err // it says more than that the time is up
		}
		kind := c.lock.kind(err)
		if kind == causes.Throttled && !c.try {
			c.pause.AtLeast(c.lock.Options.ConnectTimeout / 4)
		}
		if !kind.Transient() || kind == causes.Unreachable || c.lock.late(start, c.pause.Next()) || c.pause.Wait(ctx) != nil {
			return nil, last
		}
	}
}

// look reads the cell while we wait, however long that takes: we have nothing that could end
// meanwhile.
func (c *campaign) look(ctx context.Context) (*view, error) {
	for warned := false; ; warned = true {
		v, err := c.lock.readOnce(ctx, Lease)
		if err == nil {
			c.outage.Reset()
			return v, nil
		}
		if !c.lock.kind(err).Transient() {
			return nil, err
		}
		c.answers.Failed(err, causes.IsContext(err))
		if !warned {
			c.lock.Log.Warn("the wait is disturbed; trying again", "err", c.lock.Plain(err))
		}
		pause := c.outage.Take()
		if c.lock.kind(err) == causes.Throttled {
			pause = crowded/2 + rand.N(crowded)
		}
		if last := c.answers.Look(ctx); last > 0 {
			pause = min(pause, last)
		}
		if backoff.Sleep(ctx, pause) != nil {
			return nil, c.answers.Verdict(err)
		}
	}
}

// take tries to make the lock ours, on the condition that the cell is as in a view. It
// returns neither a term nor an error if the caller should look again.
func (c *campaign) take(ctx context.Context, v *view, by Expiry) (*term, error) {
	l := c.lock
	c.attempts++
	t := l.newTerm(v, fmt.Sprintf("%s.%d", l.id, c.attempts))
	if !l.wrote(v) {
		c.doubt = doubt{}
	}
	var minAge time.Duration
	switch by {
	case ByStamps:
		c.doubt.begin(v, t)
	case ByClock:
		minAge = l.traits.minAge(v)
	}
	after, err := c.write(ctx, v, t, minAge)
	why := err
	c.dirty = c.dirty || err == nil || !l.kind(err).NoEffect()
	if err != nil && l.kind(err) == causes.Unknown {
		after, err = c.resolve(ctx, t, err)
	}
	if err == nil && after != nil && v.exists() {
		err = l.traits.checkRenewed(after, v)
	}
	switch {
	case err != nil:
		return nil, c.failed(ctx, v, err)
	case after == nil: // it had no effect, or too long ago
		return nil, c.again(ctx, why, backoffMin)
	}
	if left := c.doubt.left(after, l.traits); left > 0 {
		l.Log.Warn("a clock between here and the store is wrong; the previous lease has not ended", "left", left)
		return nil, nil
	}
	t.state.TTLms = l.ttl.Milliseconds()
	t.begin(after)
	return t, nil
}

func (c *campaign) write(ctx context.Context, v *view, t *term, minAge time.Duration) (*view, error) {
	ctx, linger := lingering(ctx, lingerTime)
	defer linger()
	ctx, cancel := context.WithTimeout(ctx, c.lock.Options.ConnectTimeout/2)
	defer cancel()
	t.sent = c.lock.now()
	return c.lock.swap(ctx, Lease, v, Value{State: t.state.encode(), MinAge: minAge})
}

// failed pauses, if another look and another attempt may succeed; otherwise it returns the
// error.
func (c *campaign) failed(ctx context.Context, v *view, err error) error {
	switch c.lock.kind(err) {
	case causes.Changed, causes.Ended:
		return c.beaten(ctx, v)
	case causes.Throttled:
		return c.again(ctx, err, c.lock.traits.Pace)
	case causes.Unsent, unmoved: // if the store's clock was set back, the cell moves next time
		return c.again(ctx, err, backoffMin)
	}
	return err
}

// beaten pauses after a write that was refused because the cell, as in a view, had changed. That
// somebody else was faster is no failure, however often. But if the cell turns out to be as it was,
// the store refuses what it should accept, and does not say why.
func (c *campaign) beaten(ctx context.Context, v *view) error {
	pause := rand.N(c.lock.traits.spread())
	if c.refused == nil || c.refused.Version != v.Version {
		c.refused, c.stuck, c.failing = v, nil, 0
		c.retry.Reset()
		return backoff.Sleep(ctx, pause)
	}
	c.stuck = &stuckError{c.lock.traits.Cell, c.lock.traits.HintUnmoved}
	if c.again(ctx, c.stuck, pause) != nil {
		return c.stuck // also if ctx has ended: it says more
	}
	return nil
}

// again pauses, for at least as long as given, before the next attempt to write, unless
// writes have been failing for too long.
func (c *campaign) again(ctx context.Context, why error, pause time.Duration) error {
	if c.failing == 0 {
		c.failing = c.lock.now()
	}
	c.retry.AtLeast(pause)
	if c.lock.late(c.failing, c.retry.Next()*3/4) {
		return why
	}
	return c.retry.Wait(ctx)
}

// resolve finds out, by its nonce, whether a write whose answer was lost took effect. It
// returns no view if the write had no effect, or took effect so long ago that too little of
// the lease is left. In the second case the next attempt takes over from this one. It always
// does so if the store has leases of its own: then the store can give the earlier one up at
// any time.
func (c *campaign) resolve(ctx context.Context, t *term, why error) (*view, error) {
	l := c.lock
	if l.traits.Expiry == ByLease {
		return nil, nil
	}
	l.Log.Debug("looking whether a write took effect", "err", l.Plain(why))
	v, err := c.firstLook(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w; and what became of it is not known: %w", why, err)
	}
	if v.unreadable != nil || v.state.Nonce != t.state.Nonce || v.state.Is != held || l.now().Sub(t.sent) > l.ttl/2 {
		return nil, nil
	}
	if !l.traits.ReadsEarly {
		return v, nil
	}
	return l.swap(ctx, Lease, v, Value{State: t.state.renewed(v).encode(), Silent: true})
}

// undo frees the lock if a failed campaign may have taken it. But if that took the lock over
// from a term that may still last, undo leaves the state, whose lease makes others wait. The
// caller's context, which may have ended, does not bound it.
func (c *campaign) undo(ctx context.Context) {
	if !c.dirty {
		return
	}
	l := c.lock
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	v, err := l.read(ctx, Lease)
	if err == nil && v.exists() && v.unreadable == nil && v.state.Is == held && l.wrote(v) && c.doubt.left(v, l.traits) <= 0 {
		_, err = l.swap(ctx, Lease, v, Value{State: v.state.freed().encode()})
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		l.Log.Warn("cannot undo an acquire; its lease will run out", "err", l.Plain(err), "ttl", l.ttl)
	}
}
