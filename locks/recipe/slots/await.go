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

// recheck is the mean pause between two looks at slots for which we have no bid.
const recheck = 3 * time.Second

// A bid is an Acquire of one slot that somebody holds.
type bid struct {
	slot
	err error
}

// await returns when one of the slots that are held may have become free, or was granted to
// us. In the second case it is c.taken.
func (c *campaign) await(ctx context.Context, v *view) error {
	c.confirm = v.firstHolder().Confirm
	bids, err := c.bids(ctx, v)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	settled := make(chan *bid, len(bids))
	for _, b := range bids {
		all.Go(func() {
			b.grant, b.err = b.handle.Acquire(waiting, false)
			settled <- b
		})
	}
	won, err := c.first(ctx, settled, v)
	if won != nil {
		c.taken = &won.slot
		bids = slices.DeleteFunc(bids, func(b *bid) bool { return b == won })
	}
	for _, b := range bids {
		c.lock.drop(b.handle)
	}
	cancel()
	all.Wait()
	if ctx.Err() != nil && won == nil {
		err = c.over(ctx, lastWord(bids, err))
	}
	return errors.Join(err, c.withdraw(ctx, bids))
}

// lastWord returns why no bid was granted when the time was up: the failure of one, or else, if
// all slots are known to be held, that they are.
func lastWord(bids []*bid, err error) error {
	for _, b := range bids {
		if b.err == nil || !errors.Is(b.err, locks.ErrHeld) {
			return cmp.Or(b.err, err)
		}
		err = b.err
	}
	return err
}

// bids opens a handle on each slot that we wait for.
func (c *campaign) bids(ctx context.Context, v *view) ([]*bid, error) {
	var bids []*bid
	for _, number := range v.awaited() {
		h, err := c.lock.handle(ctx, number, c.reportSlot)
		if err == nil {
			err = c.lock.add(h)
		}
		if err != nil {
			return nil, errors.Join(err, c.withdraw(ctx, bids))
		}
		bids = append(bids, &bid{slot{handle: h, number: number}, errUnused})
	}
	return bids, nil
}

var errUnused = errors.New("the slot was not requested")

// first returns the first bid that was granted, or nil if something else has changed. It
// keeps the bids until then: a backend may have a thread for each bid, and may not get that
// back before the slot is free.
func (c *campaign) first(ctx context.Context, settled <-chan *bid, v *view) (*bid, error) {
	for {
		var again <-chan time.Time
		if len(v.held) > width {
			again = time.After(recheck/2 + rand.N(recheck))
		}
		select {
		case b := <-settled:
			switch {
			case b.err == nil:
				return b, nil
			case errors.Is(b.err, locks.ErrHeld): // the backend cannot wait
				return nil, sleep(ctx, recheck/6+rand.N(recheck/6))
			}
			return nil, b.err
		case <-again:
			now, err := c.look(ctx)
			if err != nil || now.room(c.lock.n) || !slices.Equal(now.awaited(), v.awaited()) {
				return nil, err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// withdraw gives up bids, and releases those that were granted in the end.
func (c *campaign) withdraw(ctx context.Context, bids []*bid) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
	defer cancel()
	var all sync.WaitGroup
	errs := make([]error, len(bids))
	for i, b := range bids {
		c.lock.drop(b.handle)
		all.Go(func() {
			if b.err == nil {
				errs[i] = b.handle.Release(ctx)
			}
			_ = b.handle.Close() // if it was not released, its lease runs out
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
