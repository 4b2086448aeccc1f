package keepalive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// Acquire campaigns for the lock, and keeps it from then on. It blocks until the lock is
// ours or ctx ends; with try, until it is known whether the lock is ours. The lease
// outlives ctx: it ends with Release or with a loss.
//
// Errors are those of Acquire in locks.Lock. If there is an error, nothing is held.
func Acquire(ctx context.Context, lock locks.Lock, try bool, o Options) (*Lease, error) {
	if o.Clock == nil {
		o.Clock = clock.Boot{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Interval <= 0 || o.Attempt <= 0 {
		return nil, fmt.Errorf("keepalive: interval %v and attempt %v must be positive", o.Interval, o.Attempt)
	}
	c := &campaign{lock: lock, o: o, sent: o.Clock.Now()}
	grant, err := c.wait(ctx, try)
	if err != nil {
		return nil, err
	}
	if err := c.confirm(ctx, grant); err != nil {
		return nil, c.undo(ctx, err)
	}
	return keep(lock, grant, c.sent, o), nil
}

// A campaign is an Acquire under way.
type campaign struct {
	lock locks.Lock
	o    Options
	sent clock.Instant // t_s: when Acquire, or the last acknowledged renewal, was sent
}

// outcome is the result of lock.Acquire.
type outcome struct {
	grant locks.Grant
	err   error
}

// wait runs lock.Acquire, and renews the place in the queue meanwhile.
func (c *campaign) wait(parent context.Context, try bool) (locks.Grant, error) {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	acquired := make(chan outcome, 1)
	go func() {
		g, err := c.lock.Acquire(ctx, try)
		acquired <- outcome{g, err}
	}()

	due := c.due(c.sent)
	defer func() { due.Stop() }()
	var (
		renewing attempt
		gone     error // why we lost the place in the queue
	)
	for {
		select {
		case <-due.C:
			renewing, due = c.renew(ctx), new(clock.Timer)
		case err := <-renewing.answer:
			if gone = c.answered(renewing, err); gone != nil {
				cancel() // Acquire cleans up and returns
			} else {
				due = c.due(renewing.sent)
			}
			renewing.answer = nil
		case a := <-acquired:
			if renewing.answer != nil {
				cancel()
				gone = c.answered(renewing, <-renewing.answer)
			}
			return c.decide(parent, a, gone)
		}
	}
}

// due returns the timer for the next renewal of the place, R after the last one was sent,
// even if that failed: nothing is running that would be in danger, and if the server is
// down, every waiter would ask it. A permanent lock needs no renewal, and waiting for it
// needs no timer.
func (c *campaign) due(sent clock.Instant) *clock.Timer {
	if locks.IsPermanent(c.lock) {
		return new(clock.Timer)
	}
	return clock.NewPause(c.o.Clock, sent.Add(c.o.Interval))
}

// decide weighs the result of Acquire against the loss of the place in the queue. An
// Acquire that fails gives up its place, so that a concurrent renewal may find it gone.
// Acquire's own error then says more, unless it only results from our cancelling it.
func (c *campaign) decide(parent context.Context, a outcome, gone error) (locks.Grant, error) {
	switch {
	case gone == nil:
		return a.grant, a.err
	case a.err == nil:
		return locks.Grant{}, c.undo(parent, gone)
	case parent.Err() == nil && errors.Is(a.err, context.Canceled):
		return locks.Grant{}, gone
	default:
		return locks.Grant{}, a.err
	}
}

// confirm checks that what was granted may be used.
func (c *campaign) confirm(ctx context.Context, grant locks.Grant) error {
	if grant.TTL < 0 {
		return fmt.Errorf("%w: granted a ttl of %v", locks.ErrUnavailable, grant.TTL)
	}
	age := c.o.Clock.Now().Sub(c.sent)
	if grant.TTL > 0 && age > min(c.o.Interval, Trusted(grant.TTL)) {
		if err := c.refresh(ctx, grant.TTL); err != nil {
			return err
		}
	}
	select {
	case err := <-c.lock.Lost():
		return asLost(err)
	default:
		return nil
	}
}

// refresh renews a lease that began while we were queued and is due for renewal, before
// anything is started under it. It tries for as long as the lease may last. Even after
// that the server's word counts, because nobody has relied on this lease yet.
func (c *campaign) refresh(ctx context.Context, ttl time.Duration) error {
	giveUp := c.o.Clock.Now().Add(ttl)
	for {
		a := c.renew(ctx)
		err := <-a.answer
		_ = c.answered(a, err)
		switch {
		case err == nil, errors.Is(err, locks.ErrLost), ctx.Err() != nil:
			return err
		case c.o.Clock.Now() >= giveUp:
			return fmt.Errorf("renew before the start: %w", err)
		}
		pause := clock.NewTimer(c.o.Clock, a.sent.Add(spacing(c.o)))
		select {
		case <-pause.C:
		case err := <-c.lock.Lost():
			pause.Stop()
			return asLost(err)
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
}

// undo gives up a grant that may not be used, and returns the given reason. It is bounded
// by A. If it fails, the lease ends by itself.
func (c *campaign) undo(ctx context.Context, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.o.Attempt)
	defer cancel()
	if err := c.lock.Release(ctx); err != nil {
		return fmt.Errorf("%w (giving the lock up: %v)", why, err) // only the reason's class
	}
	return why
}

// renew begins one attempt, bounded by A.
func (c *campaign) renew(ctx context.Context) attempt {
	return startAttempt(ctx, c.o.Clock.Now(), c.o.Attempt, c.lock.Renew)
}

// answered takes the outcome of an attempt. Only a success moves the stamp, and it moves
// it to the moment of sending. answered returns the error of a definite loss.
func (c *campaign) answered(a attempt, err error) error {
	switch {
	case err == nil:
		c.sent = a.sent
	case errors.Is(err, locks.ErrLost):
		return err
	case !errors.Is(err, locks.ErrNoLease):
		c.o.Logger.Debug("renewal failed while waiting", "err", err)
	}
	return nil
}
