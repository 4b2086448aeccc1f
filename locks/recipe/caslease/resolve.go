package caslease

import (
	"context"
	"errors"
	"fmt"
)

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
