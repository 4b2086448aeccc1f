package slots

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// recheck is how often slots are looked at that we do not wait for.
const recheck = 3 * time.Second

// A bid is a place in the queue of one slot.
type bid struct {
	handle locks.Lock
	number int
	grant  locks.Grant
	err    error
}

// await returns when one of the slots that are held may have become free. If it
// was granted to us it is c.slot then.
func (c *campaign) await(ctx context.Context, v *view) error {
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
		c.slot, c.number, c.grant = won.handle, won.number, won.grant
		bids = slices.DeleteFunc(bids, func(b *bid) bool { return b == won })
	}
	for _, b := range bids {
		c.drop(b.handle)
	}
	cancel()
	all.Wait()
	return errors.Join(err, c.withdraw(ctx, bids))
}

// bids opens the handles to wait with, first of all for those slots that are for
// us.
func (c *campaign) bids(ctx context.Context, v *view) ([]*bid, error) {
	var bids []*bid
	for _, number := range v.sought() {
		h, err := c.handle(ctx, number, c.tell)
		if err == nil {
			err = c.add(h)
		}
		if err != nil {
			return nil, errors.Join(err, c.withdraw(ctx, bids))
		}
		bids = append(bids, &bid{handle: h, number: number, err: errUnused})
	}
	return bids, nil
}

var errUnused = errors.New("not asked for")

// first returns the first bid that was granted, or nil if something has changed beside
// that. As long as nothing has, bids are not made anew: a backend may have a thread for
// each, which cannot be had back before its slot is free.
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
			now, err := c.look(ctx, c.gate, c.number)
			if err != nil || now.room(c.n) || !slices.Equal(now.sought(), v.sought()) {
				return nil, err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// withdraw gives up bids, also those that were granted in the end.
func (c *campaign) withdraw(ctx context.Context, bids []*bid) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
	defer cancel()
	var all sync.WaitGroup
	errs := make([]error, len(bids))
	for i, b := range bids {
		c.drop(b.handle)
		all.Go(func() {
			if b.err == nil {
				errs[i] = b.handle.Release(ctx)
			}
			_ = b.handle.Close() // what was not released ends with its lease
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
