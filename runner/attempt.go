package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/runner/event"
)

// An OuterError says that the lock is held by a leaderrun of which Config.Outer
// knows that it will hold the lock for as long as we run: we are part of its
// job. To wait for it would be to wait for ourselves. Nothing of the campaign
// is left.
type OuterError struct{ Status locks.Status }

func (e *OuterError) Error() string {
	return (&locks.HeldError{Status: e.Status}).Error() + ", around us"
}
func (e *OuterError) Unwrap() error { return locks.ErrHeld }

// An attempt asks for the lock once, with a handle of its own, and may wait in its
// queue.
type attempt struct {
	campaign    *campaign
	steppedBack bool          // the lock was granted, and left to somebody else
	finished    chan struct{} // closed when term is set
	term        *term         // nil: the lock was not granted, or given up again

	mu     sync.Mutex
	seen   *locks.Status // what was last said of the holder; nil: nothing
	around bool          // it is a leaderrun around us
}

// run returns the term if the lock was granted.
func (a *attempt) run(ctx context.Context) (*term, error) {
	var lock locks.Lock
	lock, err := a.campaign.c.Open(ctx, func(w locks.Waiting) { a.waiting(lock, w) })
	if err != nil {
		if ctx.Err() == nil {
			err = &openError{err}
		}
		return nil, err
	}
	t, err := a.acquire(ctx, lock)
	if err != nil {
		_ = lock.Close() // the attempt's own error is the one that matters
	}
	return t, err
}

// waiting is called while others hold the lock, with each change.
func (a *attempt) waiting(lock locks.Lock, w locks.Waiting) {
	k := a.campaign
	around := k.c.Outer != nil && k.c.Outer(w.Status)
	other := a.heard(w.Status, around)
	if around {
		k.limit.cancel() // it would wait for what waits for us
		return
	}
	if other {
		k.report.log.Info("waiting", "leader", locks.Printable(w.Status.Holder))
		k.report.emit(event.Event{Kind: event.Waiting, Class: event.ClassHeld, Reason: (&locks.HeldError{Status: w.Status}).Error()})
	}
	k.runStandby(lock, w)
	if k.c.Waiting != nil {
		k.c.Waiting(w)
	}
	k.limit.answered()
}

func (a *attempt) acquire(ctx context.Context, lock locks.Lock) (*term, error) {
	c := a.campaign.c
	if err := c.require(ctx, lock); err != nil {
		return nil, err
	}
	if !locks.IsPermanent(lock) {
		if err := c.Timing.Gate(c.Timing.TTL); err != nil {
			return nil, err
		}
	}
	lease, err := keepalive.Acquire(ctx, lock, c.Try, keepalive.Options{
		Interval: c.Timing.Renew,
		Attempt:  c.Timing.Attempt,
		Clock:    c.Clock,
		Logger:   c.Logger,
		Renewed:  a.renewed,
	})
	if err != nil {
		a.finish(nil)
		return nil, err
	}
	if err := c.outranked(ctx, lock); err != nil {
		a.steppedBack = true
		a.finish(nil)
		c.stepBack(ctx, lease)
		return nil, err
	}
	return newTerm(a.campaign, lock, lease), nil
}

// won begins the term, unless a signal came in the last moment of the campaign. Later
// signals are the job's.
func (a *attempt) won(t *term, signalled error) (*term, error) {
	t.acquired()
	a.finish(t)
	if signalled != nil {
		t.release(true)
		_ = t.lock.Close() // it was released
		return nil, signalled
	}
	return t, nil
}

func (a *attempt) finish(t *term) {
	a.term = t
	close(a.finished)
}

// renewed passes what became of a renewal on to the term. The first renewal may be over
// before there is a term: then the goroutine that renews waits for it.
func (a *attempt) renewed(n keepalive.Renewal) {
	<-a.finished
	if a.term != nil {
		a.term.lease.renewed(n, a.campaign.c.Renewed)
	}
}

// verdict returns the error of a campaign that ends after its last attempt failed with
// err. Contention and outage never look alike: the lock is held if that is the last that
// we heard.
func (a *attempt) verdict(ctx context.Context, err, before error) error {
	seen, around := a.said()
	isOuter := a.campaign.c.Outer
	if held := new(*locks.HeldError); isOuter != nil && errors.As(err, held) && isOuter((*held).Status) {
		seen, around = &(*held).Status, true
	}
	ended, lost := ctx.Err() != nil, errors.Is(err, locks.ErrLost)
	switch {
	case around:
		return &OuterError{*seen}
	case errors.Is(err, locks.ErrHeld), errors.Is(err, locks.ErrUnavailable), classify(err).final:
		return err
	case seen != nil && (ended || lost):
		return &locks.HeldError{Status: *seen}
	case ended && before != nil: // the attempt was cut short and learned nothing
		return before
	case ended:
		return fmt.Errorf("%w: %s gave no answer in time", locks.ErrUnavailable, a.campaign.c.Backend)
	case lost: // only a place in the queue, and not as a job loses its lock
		return fmt.Errorf("%w: %v", locks.ErrUnavailable, err)
	default:
		return fmt.Errorf("%w: %w", locks.ErrUnavailable, err)
	}
}

// heard notes who holds the lock, and reports whether that is another one than before.
// A leaderrun around us is the last that is noted.
func (a *attempt) heard(holder locks.Status, around bool) (other bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.around {
		return false
	}
	other = a.seen == nil || a.seen.Holder != holder.Holder
	a.seen, a.around = &holder, around
	return other
}

// said returns who last held the lock as far as we have heard, or nil.
func (a *attempt) said() (holder *locks.Status, around bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen, a.around
}

// require refuses a backend that lacks what was asked for.
func (c *Config) require(ctx context.Context, lock locks.Lock) error {
	for _, n := range []struct {
		asked   bool
		what    string
		ability locks.Ability
	}{
		{c.Once != nil, "--once-per", locks.CanRecord},
		{c.Strict && !locks.IsPermanent(lock), "--takeover strict", locks.CanRecord},
		{c.Priority != nil, "--priority", locks.CanQueue},
	} {
		if n.asked {
			if err := locks.Require(ctx, lock, n.what, n.ability); err != nil {
				return err
			}
		}
	}
	return nil
}
