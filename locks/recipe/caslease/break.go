package caslease

import (
	"context"
	"crypto/rand"

	"github.com/leaderrun/leaderrun/locks"
)

// Break implements [locks.Breaker]: it marks the lock as free, on the condition
// that the cell is as it was when it showed the term. So its holder cannot renew
// in between, nor afterwards. The record keeps the token, and says that this was
// no release.
func (l *Lock) Break(ctx context.Context, token uint64) error {
	bounded, cancel := l.workers.Until(ctx)
	defer cancel()
	nonce := rand.Text()
	err := l.insist(bounded, func() error { return l.breakOnce(bounded, token, nonce) })
	if err != nil {
		return l.fail(ctx, "break", err)
	}
	return nil
}

// breakOnce knows by the nonce what an earlier attempt did whose answer was lost.
func (l *Lock) breakOnce(ctx context.Context, token uint64, nonce string) error {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout/2)
	defer cancel()
	v, err := l.read(ctx, Lease)
	switch {
	case err != nil:
		return err
	case v.foreign != nil:
		return l.foreign(Lease, v.foreign, l.traits.HintForeign)
	case v.exists() && v.state.Broken == nonce:
		return nil
	}
	if st := v.status(); !st.Held || st.Token != token {
		return errNotTheTerm
	}
	r := v.state.freed()
	r.Broken = nonce
	_, err = l.swap(ctx, Lease, v, Value{State: r.encode()})
	return err
}

// insist repeats a change that depends on what was there until it is acknowledged,
// or surely in vain, or the time for an answer is over.
func (l *Lock) insist(ctx context.Context, once func() error) error {
	pause := newBackoff()
	for start := l.now(); ; {
		err := once()
		if err == nil {
			return nil
		}
		switch kind := l.kind(err); {
		case kind == Changed:
		case kind == Throttled:
			pause.AtLeast(l.traits.Pace)
		case !kind.transient(), kind == Unreachable, l.late(start, pause.Next()):
			return err
		}
		if pause.Wait(ctx) != nil {
			return err
		}
	}
}

var _ locks.Breaker = (*Lock)(nil)
