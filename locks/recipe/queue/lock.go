package queue

import (
	"context"
	"errors"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/handle"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// Why a term ended. The store has its own errors for an entry or a session that ended.
const (
	errReleased = locks.LostError("the handle was released")
	errNotHeld  = locks.LostError("the handle does not hold the lock")
)

// A Lock is a handle on one lock in a store. It implements [locks.Lock], and those of the
// optional interfaces in that package that the store supports.
type Lock struct {
	*handle.Handle
	store  Store
	traits Traits

	mu      sync.Mutex
	current *Campaign // the latest; nil before the first
	final   error     // why the handle cannot be used any longer; nil: it can
}

// New makes a handle on the lock that o names, without contacting the server. The handle
// closes the store when it is closed.
func New(s Store, t Traits, o locks.Options) *Lock {
	l := &Lock{store: s, traits: t}
	l.Handle = handle.New(t.Backend, o, func(err error) (*locks.Error, bool) {
		f := s.Fault(err)
		return f.Explained, f.Timeout
	})
	l.Secrets = t.Secrets
	return l
}

// fault classifies an error, unless it already has a class.
func (l *Lock) fault(err error) Fault {
	if handle.Class(err) != nil {
		return Fault{}
	}
	return l.store.Fault(err)
}

// Acquire implements [locks.Lock].
func (l *Lock) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	c, err := l.begin(ctx)
	if err != nil {
		return locks.Grant{}, l.Fail(ctx, "acquire", err)
	}
	token, err := c.run(ctx, try)
	ttl, over := c.TTL(), c.Over()
	if over != nil {
		err = over // lost, released or closed meanwhile
	}
	if err == nil {
		c.lead(token)
		return locks.Grant{Token: token, TTL: ttl}, nil
	}
	limit := undoTimeout
	if ctx.Err() != nil && !errors.Is(err, locks.ErrHeld) && (c.waited || !l.fault(err).Timeout) {
		limit /= 4 // the server is down, and the caller's time is up
	}
	c.abandon(err)
	c.undo(ctx, limit)
	return locks.Grant{}, l.Fail(ctx, "acquire", err)
}

// begin begins a campaign, or continues that of a place that was resumed.
func (l *Lock) begin(ctx context.Context) (*Campaign, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	old, final := l.state()
	if final != nil {
		return nil, final
	}
	if old != nil && old.resumed {
		return old, nil
	}
	return l.start()
}

// start makes a campaign the latest, unless the handle cannot be used any longer.
func (l *Lock) start() (c *Campaign, err error) {
	c = l.newCampaign()
	if c.entry, err = l.store.NewEntry(c); err != nil {
		return nil, err
	}
	l.mu.Lock()
	final := l.final
	if final == nil {
		l.current = c
	}
	l.mu.Unlock()
	if final != nil {
		c.abandon(final)
	}
	return c, final
}

// state returns the latest campaign, and why the handle cannot be used any longer.
func (l *Lock) state() (*Campaign, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current, l.final
}

// finish notes why the handle cannot be used any longer.
func (l *Lock) finish(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.final = why
}

// Renew implements [locks.Lock].
func (l *Lock) Renew(ctx context.Context) error {
	c, final := l.state()
	switch {
	case final != nil:
		return l.Fail(ctx, "renew", final)
	case c == nil || c.Over() != nil || c.TTL() == 0:
		return locks.ErrNoLease
	}
	err := c.judge(c.entry.Renew(ctx))
	if over := c.Over(); over != nil { // now, or while we asked
		err = over
	}
	if err == nil || errors.Is(err, locks.ErrNoLease) {
		return err
	}
	c.answers.Failed(err, l.fault(err).Timeout)
	return l.Fail(ctx, "renew", err)
}

// Release implements [locks.Lock]. It ends the session, which deletes our entry and nothing
// else, in one step.
func (l *Lock) Release(ctx context.Context) error {
	c, _ := l.state()
	if c == nil {
		return nil
	}
	if t, ok := c.entry.(Tidier); ok && c.Over() == nil {
		t.Tidy(ctx)
	}
	c.end(errReleased)
	if err := c.leave(ctx); err != nil {
		return l.Fail(ctx, "release", err)
	}
	return nil
}

// Close implements [locks.Lock].
func (l *Lock) Close() error {
	l.finish(workers.ErrClosed)
	if c, _ := l.state(); c != nil {
		c.end(workers.ErrClosed)
	}
	l.Workers.End()
	l.store.Close()
	l.Workers.Wait()
	return nil
}

// Term implements [locks.Adopter].
func (l *Lock) Term() string {
	c, _ := l.state()
	return c.entry.Term()
}

// Adopt implements [locks.Adopter].
func (l *Lock) Adopt(term string) error {
	c, token, err := l.adopt(term)
	if err != nil {
		return err
	}
	c.watchEntry(0)
	c.lead(token)
	return nil
}

// adopt makes the entry of another handle that of a new campaign.
func (l *Lock) adopt(term string) (c *Campaign, token uint64, err error) {
	if c, err = l.start(); err != nil {
		return nil, 0, err
	}
	if token, err = c.entry.Adopt(term); err != nil {
		c.abandon(err)
	}
	return c, token, err
}

// Place implements [locks.Placer].
func (l *Lock) Place() string {
	if c, _ := l.state(); c.placed {
		return c.entry.Term()
	}
	return ""
}

// Resume implements [locks.Placer].
func (l *Lock) Resume(place string) error {
	c, _, err := l.adopt(place)
	if err == nil {
		c.resumed = true
	}
	return err
}

var (
	_ locks.Lock    = (*Lock)(nil)
	_ locks.Adopter = (*Lock)(nil)
	_ locks.Placer  = (*Lock)(nil)
)
