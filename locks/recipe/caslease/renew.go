package caslease

import (
	"context"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// renew extends the lease by one write, which fails if anybody has changed the cell. Then
// the cell is read. If the term is still ours, the change was an earlier renewal of ours
// whose answer was lost, or it concerned a setting that does not matter to us; the write is
// repeated on what was found. So success always means a write that was sent after Renew was
// called, and that others can see.
func (l *Lock) renew(ctx context.Context, t *term) error {
	if err := l.paced(ctx, t); err != nil {
		return err
	}
	for range 3 {
		at, err := l.current(ctx, t)
		if err != nil {
			return err
		}
		sent := l.now()
		if err := l.mayWrite(t, sent); err != nil {
			return err
		}
		to := Value{State: t.state.renewed(at).encode(), Silent: true}
		v, err := l.rewrite(ctx, at, to)
		if err == nil && l.traits.moves(to) {
			err = l.traits.checkRenewed(v, at)
		}
		if err == nil {
			t.note(at, v, sent)
			return l.why()
		}
		if !l.stale(err) {
			return err
		}
		t.note(at, nil, 0)
	}
	return fmt.Errorf("the %s is being changed by someone else all the time", l.traits.Cell)
}

// paced waits until Pace has passed since our last write that was not a renewal, if ctx
// leaves time for that and for a request. That write was the acquire (shortly before it,
// somebody may have written a release) or one of the record.
func (l *Lock) paced(ctx context.Context, t *term) error {
	pace := l.traits.Pace
	d := pace - t.sinceWrite(l.now())
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d+pace/2 {
		return nil
	}
	return backoff.Sleep(ctx, d)
}

// renewal notes that a renewal is under way, until end is called.
func (l *Lock) renewal() (end func()) {
	done := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewing = done
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.renewing = nil
		close(done)
	}
}

// afterRenewal waits until no renewal is under way: if two writes have one condition, one
// of them fails, and that must not be the renewal. A renewal that begins later does not wait
// for the other write: it fails at most once, reads, and writes again.
func (l *Lock) afterRenewal(ctx context.Context) error {
	for {
		l.mu.Lock()
		done := l.renewing
		l.mu.Unlock()
		if done == nil {
			return nil
		}
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
