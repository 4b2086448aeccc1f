package gcs

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/leaderrun/leaderrun/locks"
)

// errNotTheTerm: what was to be taken away is not held any more.
const errNotTheTerm = locks.LostError("that term has ended")

// Break implements [locks.Breaker]: it marks the lock as free, on the condition
// that the object is as it was when it showed the term. So its holder cannot renew
// in between, nor afterwards. The record keeps the token, and says that this was
// no release.
func (l *Lock) Break(ctx context.Context, token uint64) error {
	bounded, cancel := l.untilClosed(ctx)
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
	v, err := l.c.read(ctx)
	switch {
	case err != nil:
		return err
	case v.foreign != nil:
		return &foreignError{l.c, v.foreign}
	case v.exists && v.record.Broken == nonce:
		return nil
	}
	if st := v.status(); !st.Held || st.Token != token {
		return errNotTheTerm
	}
	r := v.record.freed()
	r.Broken = nonce
	_, err = l.c.patch(ctx, v, r.metadata())
	return err
}

// insist repeats a change that depends on what was there until it is acknowledged,
// or surely in vain, or the time for an answer is over.
func (l *Lock) insist(ctx context.Context, once func() error) error {
	pause := newBackoff()
	for start := now(); ; {
		err := once()
		switch {
		case err == nil, gone(err), settled(err):
			return err
		case stale(err) && !bucketMissing(err):
		case throttle(err):
			pause.AtLeast(throttled)
		case !transient(err), unreachable(err), l.late(start, pause.Next()):
			return err
		}
		if pause.Wait(ctx) != nil {
			return err
		}
	}
}

// settled reports that an error says how the object is, or comes from somebody who
// has insisted already.
func settled(err error) bool {
	return errors.Is(err, locks.ErrHeld) || isA[*foreignError](err) || isA[*locks.Error](err)
}

var _ locks.Breaker = (*Lock)(nil)
