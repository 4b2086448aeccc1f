package caslease

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A term is the time during which the lock is ours.
type term struct {
	state state
	clean bool // the previous holder released the lock

	mu    sync.Mutex
	last  *view         // of the cell; nil: it has changed since we last saw it
	sent  clock.Instant // when the last write that certainly restarted the lease was sent
	wrote clock.Instant // when the last write that was not a renewal was sent
}

// newTerm returns the term that would follow the one in a view.
func (l *Lock) newTerm(v *view, nonce string) *term {
	var token uint64 // of the first term of a cell: only the answer has it
	if v.exists() {
		token = v.token() + 1
	}
	t := &term{state: newState(l.Options, nonce, l.ttl, token), clean: v.exists() && v.state.Is == free && v.state.Broken == ""}
	switch {
	case t.clean:
		t.state.Start = locks.StartClean
	case v.exists():
		t.state.Start = locks.StartTakeover
	}
	return t
}

// begin notes the cell as it is when the term has begun.
func (t *term) begin(v *view) {
	t.last, t.wrote = v, t.sent
	if t.state.Token == 0 {
		t.state.Token = v.First
	}
}

// mayWrite returns why we must no longer write the term, even if the store would let us, or
// nil if we may.
func (l *Lock) mayWrite(t *term, now clock.Instant) error {
	if why := l.why(); why != nil { // first, so that a release of ours is not taken for a loss
		return why
	}
	if expired(t.leaseSent(), now, l.ttl) { // somebody may have led since
		return l.lose(errExpired)
	}
	return nil
}

// writable returns the cell as we know it, and the moment from which a write of the term counts,
// unless we must no longer write it.
func (l *Lock) writable(ctx context.Context, t *term) (at *view, sent clock.Instant, err error) {
	if at, err = l.current(ctx, t); err == nil {
		sent = l.now()
		err = l.mayWrite(t, sent)
	}
	return at, sent, err
}

// current returns the cell as we know it, or reads it if we do not. If the term is no longer
// ours, it is lost.
func (l *Lock) current(ctx context.Context, t *term) (*view, error) {
	if last := t.known(); last != nil {
		return last, nil
	}
	return l.check(ctx, t)
}

// known returns the cell as we know it, or nil.
func (t *term) known() *view {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// check reads the cell. If the term is no longer ours, it is lost.
func (l *Lock) check(ctx context.Context, t *term) (*view, error) {
	was := t.known()
	v, err := l.read(ctx, Lease)
	if err != nil {
		return nil, err
	}
	switch {
	case !v.exists():
		return nil, l.lose(locks.LostError("the " + l.traits.Cell + " was deleted"))
	case v.unreadable != nil:
		return nil, l.lose(locks.LostError("the " + l.traits.Cell + " was overwritten by someone else"))
	case v.state.Nonce != t.state.Nonce:
		return nil, l.lose(errTaken)
	case v.state.Is != held:
		if text, ok := DecodeText(v.state.Why); ok { // it was broken
			l.Deliver(v.state.Broken, text)
		}
		return nil, l.lose(errFreed)
	case l.traits.Expiry == ByLease && !v.Leased:
		return nil, l.lose(errEnded)
	}
	t.note(was, v, 0)
	return v, nil
}

// lose ends the handle because of a loss, unless it has ended already, and returns why it
// has ended.
func (l *Lock) lose(why error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.final == nil {
		l.final = why
		l.Log.Info("lost the lock", "err", why)
		if l.Losses != nil {
			l.Losses <- l.Fail(context.Background(), "watch", why)
		}
	}
	return l.final
}

// note notes how the cell is now, which was as in the view was before, and when the renewal
// that made it so was sent; 0: it was no renewal. If we know another view by now, this
// answer came late, and the other one stays.
func (t *term) note(was, v *view, sent clock.Instant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent = max(t.sent, sent)
	if t.last == was {
		t.last = v
	}
}

// leaseSent returns when the last write that certainly restarted the lease was sent.
func (t *term) leaseSent() clock.Instant {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sent
}

// writes notes that a write that is no renewal is sent.
func (t *term) writes(sent clock.Instant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrote = sent
}

// sinceWrite returns how long ago the last such write was.
func (t *term) sinceWrite(now clock.Instant) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return now.Sub(t.wrote)
}

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
		at, sent, err := l.writable(ctx, t)
		if err != nil {
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

// release marks the lock as free, if it is still ours. If an answer was lost, it reads the
// cell and tries again, for as long as ctx allows.
func (l *Lock) release(ctx context.Context, t *term) error {
	never := func(error, time.Duration) error { return nil }
	return l.repeat(ctx, l.traits.Pace/2, never, func() error {
		err := l.releaseOnce(ctx, t)
		if l.stale(err) { // a cell that has changed is read at once
			err = l.releaseOnce(ctx, t)
		}
		return err
	})
}

func (l *Lock) releaseOnce(ctx context.Context, t *term) error {
	ctx, cancel := backoff.Try(ctx)
	defer cancel()
	at, err := l.current(ctx, t)
	if isLost(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if at.state.Is == free { // by an earlier Release
		return nil
	}
	v, err := l.rewrite(ctx, at, Value{State: t.state.freed().encode()})
	if isLost(err) {
		return nil
	}
	if err == nil || l.stale(err) {
		t.note(at, v, 0)
	}
	return err
}
