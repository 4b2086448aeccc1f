package caslease

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A term is the time for which the lock is ours.
type term struct {
	state state
	clean bool // the holder before has released the lock

	// Guarded by Lock.mu. A nil view says that it is not known how the cell is:
	// it has changed since we last saw it.
	last  *view
	sent  clock.Instant // when the last write that surely began the lease anew was sent
	wrote clock.Instant // when the last write that was not a renewal was sent
	heard string        // the nonce of what we were asked last
}

func randomBelow(d time.Duration) time.Duration { return rand.N(d) }

// newTerm makes the term that would follow on a view.
func (l *Lock) newTerm(v *view) *term {
	l.mu.Lock()
	l.attempts++
	nonce := fmt.Sprintf("%s.%d", l.id, l.attempts)
	l.mu.Unlock()
	var token uint64 // of the first term: only the answer tells
	if v.exists() {
		token = v.token() + 1
	}
	t := &term{state: newState(l.o, nonce, l.ttl, token), clean: v.exists() && v.state.Is == free && v.state.Broken == ""}
	switch {
	case t.clean:
		t.state.Start = locks.StartClean
	case v.exists():
		t.state.Start = locks.StartTakeover
	}
	return t
}

// at notes how the cell is once the term has begun.
func (t *term) at(v *view) {
	t.last, t.wrote = v, t.sent
	if t.state.Token == 0 {
		t.state.Token = v.First
	}
}

// renew extends the lease by one write, which any change of the cell by
// somebody else makes fail. If it fails, the cell is read: if the term is
// still ours, the change was an earlier renewal of ours whose answer was lost,
// or one of a setting that is no concern of ours; then the write is repeated on
// what was found. So a success always means a write that was sent after Renew
// was called, and that others can see.
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
		v, err := l.swap(ctx, Lease, at, Value{State: t.state.renewed(at).encode(), Silent: true})
		if err == nil {
			err = l.traits.renewed(v, at)
		}
		if err == nil {
			l.note(t, at, v, sent)
			return l.why()
		}
		if !l.stale(err) {
			return err
		}
		l.note(t, at, nil, 0)
	}
	return fmt.Errorf("the %s is being changed by someone else all the time", l.traits.Cell)
}

// mayWrite is why the term must not be written any more, though the store
// would let us; nil: it may be.
func (l *Lock) mayWrite(t *term, now clock.Instant) error {
	if why := l.why(); why != nil { // before what Release has made of the cell is taken for ours
		return why
	}
	if expired(l.provedAt(t), now, l.ttl) { // somebody may have led since
		return l.lose(errExpired)
	}
	return nil
}

// paced keeps a renewal clear of the last write that was none (the one that began the
// term, before which there was another if somebody released the lock, or one of a
// text), if ctx leaves room for that and for a request.
func (l *Lock) paced(ctx context.Context, t *term) error {
	l.mu.Lock()
	pace := l.traits.Pace
	d := pace - l.now().Sub(t.wrote)
	l.mu.Unlock()
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d+pace/2 {
		return nil
	}
	return backoff.Sleep(ctx, d)
}

// current is how the cell is, as far as we know; if we do not, it is read.
// If the term is not ours any more, it is lost.
func (l *Lock) current(ctx context.Context, t *term) (*view, error) {
	if last := l.known(t); last != nil {
		return last, nil
	}
	return l.check(ctx, t)
}

func (l *Lock) known(t *term) *view {
	l.mu.Lock()
	defer l.mu.Unlock()
	return t.last
}

// check reads how the cell is.
func (l *Lock) check(ctx context.Context, t *term) (*view, error) {
	was := l.known(t)
	v, err := l.read(ctx, Lease)
	if err != nil {
		return nil, err
	}
	switch {
	case !v.exists():
		return nil, l.lose(locks.LostError("the " + l.traits.Cell + " was deleted"))
	case v.foreign != nil:
		return nil, l.lose(locks.LostError("the " + l.traits.Cell + " was overwritten by someone else"))
	case v.state.Nonce != t.state.Nonce:
		return nil, l.lose(errTaken)
	case v.state.Is != held:
		return nil, l.lose(errFreed)
	}
	l.note(t, was, v, 0)
	return v, nil
}

func (l *Lock) lose(why error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.final == nil {
		l.final = why
		l.log.Info("lost the lock", "err", why)
		l.tell(why)
	}
	return l.final
}

// note notes how the cell is after it was as we knew it, and when the renewal that
// made it so was sent; 0: none did. If we know of another by now, the answer came late:
// a later one says more.
func (l *Lock) note(t *term, was, v *view, sent clock.Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.sent = max(t.sent, sent)
	if t.last == was {
		t.last = v
	}
}

func (l *Lock) provedAt(t *term) clock.Instant {
	l.mu.Lock()
	defer l.mu.Unlock()
	return t.sent
}

// release marks the lock free, if it is still ours. An answer that was lost is
// resolved by reading, as often as ctx allows.
func (l *Lock) release(ctx context.Context, t *term) error {
	for pause := newBackoff(); ; {
		err := l.releaseOnce(ctx, t)
		if err == nil {
			return nil
		}
		switch kind := l.kind(err); {
		case kind == Changed:
			continue
		case kind == Throttled:
			pause.AtLeast(l.traits.Pace / 2)
		case !kind.transient():
			return err
		}
		if pause.Wait(ctx) != nil {
			return err
		}
	}
}

func (l *Lock) releaseOnce(ctx context.Context, t *term) error {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout/2)
	defer cancel()
	at, err := l.current(ctx, t)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if at.state.Is == free { // by an earlier Release
		return nil
	}
	v, err := l.swap(ctx, Lease, at, Value{State: t.state.freed().encode()})
	if err == nil || l.stale(err) {
		l.note(t, at, v, 0)
	}
	return err
}
