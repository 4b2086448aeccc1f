package slots

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// recheck is the mean pause between two looks at slots for which we have no attempt.
const recheck = 3 * time.Second

// An attempt is an Acquire of one slot that somebody holds.
type attempt struct {
	slot
	err error
}

// await returns when one of the slots that are held may have become free, or was granted to
// us. In the second case it is c.taken.
func (c *campaign) await(ctx context.Context, v *view) error {
	c.confirm = v.firstHolder().Confirm
	attempts, err := c.attempts(ctx, v)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	settled := make(chan *attempt, len(attempts))
	for _, a := range attempts {
		all.Go(func() {
			a.grant, a.err = a.handle.Acquire(waiting, false)
			settled <- a
		})
	}
	won, err := c.first(ctx, settled, v)
	if won != nil {
		c.taken = &won.slot
		delete(c.refused, won.number)
		attempts = slices.DeleteFunc(attempts, func(a *attempt) bool { return a == won })
	} else {
		clear(c.refused)
	}
	for _, a := range attempts {
		c.lock.drop(a.handle)
	}
	cancel()
	all.Wait()
	if ctx.Err() != nil && won == nil {
		err = c.over(ctx, lastWord(attempts, err))
	}
	return errors.Join(err, c.withdraw(ctx, attempts))
}

// lastWord returns why no attempt was granted when the time was up: the failure of one, or else, if
// all slots are known to be held, that they are.
func lastWord(attempts []*attempt, err error) error {
	for _, a := range attempts {
		if !errors.Is(a.err, locks.ErrHeld) {
			return cmp.Or(a.err, err)
		}
		err = a.err
	}
	return err
}

// attempts opens a handle on each slot that we wait for.
func (c *campaign) attempts(ctx context.Context, v *view) ([]*attempt, error) {
	var attempts []*attempt
	for _, number := range v.awaited() {
		h, err := c.lock.handle(ctx, number, c.reportSlot)
		if err == nil {
			err = c.lock.add(h)
		}
		if err != nil {
			return nil, errors.Join(err, c.withdraw(ctx, attempts))
		}
		attempts = append(attempts, &attempt{slot{handle: h, number: number}, errUnused})
	}
	return attempts, nil
}

var errUnused = errors.New("the slot was not requested")

// first returns the first attempt that was granted, or nil if something else has changed. It
// keeps the attempts until then: a backend may have a thread for each attempt, and may not get that
// back before the slot is free.
func (c *campaign) first(ctx context.Context, settled <-chan *attempt, v *view) (*attempt, error) {
	for {
		var again <-chan time.Time
		if len(v.held) > width {
			again = time.After(recheck/2 + rand.N(recheck))
		}
		select {
		case a := <-settled:
			switch {
			case a.err == nil:
				return a, nil
			case errors.Is(a.err, locks.ErrHeld): // the backend cannot wait
				return nil, sleep(ctx, recheck/6+rand.N(recheck/6))
			}
			return nil, a.err
		case <-again:
			now, err := c.look(ctx)
			if err != nil || len(c.refused) > 0 || now.room(c.lock.n) || !slices.Equal(now.awaited(), v.awaited()) {
				return nil, err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// withdraw gives up attempts, and releases those that were granted in the end.
func (c *campaign) withdraw(ctx context.Context, attempts []*attempt) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
	defer cancel()
	var all sync.WaitGroup
	errs := make([]error, len(attempts))
	for i, a := range attempts {
		c.lock.drop(a.handle)
		all.Go(func() {
			if a.err == nil {
				errs[i] = a.handle.Release(ctx)
			}
			_ = a.handle.Close() // if it was not released, its lease runs out
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
