package slots

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
)

// reportSlot reports what we wait for when we have the turnstile, and wait for a slot.
func (c *campaign) reportSlot(w locks.Waiting) {
	w.Lease, w.Position, w.Status.Confirm = c.lease, 1, max(w.Status.Confirm, c.confirm)
	c.report(w)
}

// report calls Options.Waiting, one call at a time.
func (c *campaign) report(w locks.Waiting) {
	if c.lock.o.Waiting == nil || c.try {
		return
	}
	c.waitingMu.Lock()
	defer c.waitingMu.Unlock()
	c.reported = w.Status
	c.lock.o.Waiting(w)
}

// over returns the error of a wait whose context has ended, given why one of the locks was not
// acquired until then. If it is held, the holder is the one that was reported.
func (c *campaign) over(ctx context.Context, err error) error {
	if held, ok := errors.AsType[*locks.HeldError](err); ok {
		c.waitingMu.Lock()
		defer c.waitingMu.Unlock()
		if c.reported != (locks.Status{}) {
			held = &locks.HeldError{Status: c.reported}
		}
		return fmt.Errorf("%w (%w)", ctx.Err(), held)
	}
	return err
}

// reportPlace reports our place in the turnstile's queue, until the function that it returns
// is called.
func (c *campaign) reportPlace(ctx context.Context) (stop func()) {
	if c.lock.o.Waiting == nil || c.try {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		for first := true; ; first = false {
			select {
			case <-ctx.Done():
				return
			case w := <-c.lock.waiting:
				c.reportHolders(ctx, w, first)
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

// reportHolders reports a slot's holder as the one that we wait for: the runs before us in
// the turnstile's queue hold no slot. The first time it reports each holder, because one of
// them may be the run in whose job we are.
func (c *campaign) reportHolders(ctx context.Context, w locks.Waiting, each bool) {
	if w.Position > 0 {
		w.Position++ // the turnstile's holder also waits
	}
	v, err := c.lock.glance(ctx, c.turnstile)
	if ctx.Err() != nil {
		return
	}
	if err != nil || len(v.held) == 0 {
		c.report(w)
		return
	}
	numbers := v.numbers()
	if !each {
		numbers = numbers[:1]
	}
	for _, number := range numbers {
		w.Status = v.held[number].Status
		w.Status.Confirm = v.firstHolder().Confirm
		c.report(w)
	}
}

// warnOfOtherN logs, once, that a holder has another N than we do.
func (c *campaign) warnOfOtherN(v *view) {
	l, least := c.lock, v.least()
	if v.unknown || least == 0 || least == l.n {
		return
	}
	level := l.log.Info
	what := "the holders allow more slots than we do; our number counts"
	if least < l.n {
		what = "a holder allows fewer slots than we do; its number counts"
		if !v.room(l.n) && len(v.held) < l.n {
			level = l.log.Warn // there are slots that we may not take
		}
	}
	l.once(what, func() { level(what, "slots", l.n, "theirs", least) })
}

// once calls a function that logs something, unless that has been logged before.
func (l *Lock) once(what string, log func()) {
	l.mu.Lock()
	reported := l.reported[what]
	l.reported[what] = true
	l.mu.Unlock()
	if !reported {
		log()
	}
}
