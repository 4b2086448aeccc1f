package caslease

import (
	"context"
	"crypto/rand"

	"github.com/leaderrun/leaderrun/locks"
)

// Break implements [locks.Breaker]. It marks the lock as free, on the condition that the cell
// is still as it was when it showed the term. So the holder cannot renew in between, nor
// afterwards. The state keeps the token, and says that this was not a release. It has our last
// request, because a holder of this term reads no other any more.
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

// breakOnce recognizes by the nonce an earlier attempt whose answer was lost.
func (l *Lock) breakOnce(ctx context.Context, token uint64, nonce string) error {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout/2)
	defer cancel()
	v, err := l.read(ctx, Lease)
	switch {
	case err != nil:
		return err
	case v.unreadable != nil:
		return l.foreign(Lease, v.unreadable)
	case v.exists() && v.state.Broken == nonce:
		return nil
	}
	if st := v.status(); !st.Held || st.Token != token {
		return errNotTheTerm
	}
	s := v.state.freed()
	s.Broken = nonce
	l.mu.Lock()
	s.Why = l.said
	l.mu.Unlock()
	if len(s.encode()) > MaxState {
		s.Why = ""
	}
	_, err = l.swap(ctx, Lease, v, Value{State: s.encode()})
	return err
}

var _ locks.Breaker = (*Lock)(nil)
