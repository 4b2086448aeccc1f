package caslease

import (
	"context"
	"errors"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// What a Recorder keeps is in the lock's own cell, beside the state. A write of it has
// the condition of a renewal, so that it fails if the lock is not ours, and no other
// write of ours touches it.
//
// It extends no lease: it neither writes the state anew nor moves the moment from
// which we count. That it moves Updated, and so lets others wait longer, does no harm.

// badRecord reports that what is kept is not a text that leaderrun wrote.
func (v *view) badRecord() bool { return v.BadRecord || locks.CheckText(v.Record) != nil }

// Record implements [locks.Recorder].
func (l *Lock) Record(ctx context.Context) ([]byte, error) {
	v, err := l.glance(ctx, Lease)
	switch {
	case err != nil:
	case v.Foreign != "":
		err = l.foreign(Lease, v.foreign, l.traits.HintForeign)
	case v.badRecord(): // to take it for none could mean to run again what was done
		err = l.foreign(Lease, errors.New("has "+l.traits.Record+" that leaderrun did not write"), l.traits.HintRecord)
	}
	if err != nil {
		return nil, l.fail(ctx, "read the record of", err)
	}
	return v.Record, nil
}

// SetRecord implements [locks.Recorder].
func (l *Lock) SetRecord(ctx context.Context, text []byte) error {
	l.mu.Lock()
	t, final := l.term, l.final
	l.mu.Unlock()
	err := locks.CheckText(text)
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		err = ctx.Err()
	case final != nil:
		err = final
	case t == nil:
		err = errNotHeld
	default:
		ctx2, cancel := l.workers.Until(ctx)
		defer cancel()
		err = l.keep(ctx2, t, append([]byte{}, text...))
	}
	if err != nil {
		return l.fail(ctx, "write the record of", err)
	}
	return nil
}

// keep writes the text until a write of it is acknowledged, or surely in vain. A
// write whose answer was lost is repeated: if it took effect, the repetition is
// refused, as the cell has changed. Then the cell is read, and if it is still
// ours, written once more.
func (l *Lock) keep(ctx context.Context, t *term, text []byte) error {
	for pause := newBackoff(); ; {
		err := l.keepOnce(ctx, t, text)
		if err == nil {
			return nil
		}
		switch kind := l.kind(err); {
		case kind == Throttled:
			pause.AtLeast(l.traits.Pace)
		case kind != Changed && !kind.transient():
			return err
		}
		if why := l.mayWrite(t, l.now()); why != nil { // also when the cell cannot be read
			return why
		}
		if pause.Wait(ctx) != nil {
			return err
		}
	}
}

func (l *Lock) keepOnce(ctx context.Context, t *term, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout/2)
	defer cancel()
	if err := l.afterRenewal(ctx); err != nil {
		return err
	}
	at, err := l.current(ctx, t)
	if err != nil {
		return err
	}
	sent := l.now()
	if err := l.mayWrite(t, sent); err != nil {
		return err
	}
	l.spaceRenewals(t, sent)
	v, err := l.swap(ctx, Lease, at, Value{Record: text})
	if err == nil || l.stale(err) {
		l.note(t, at, v, 0)
	}
	return err
}

// afterRenewal waits until no renewal is under way: of two writes on one
// condition one fails, and that is not to be the renewal. If one begins later it
// does not wait for us: it fails at most once, reads, and writes again.
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

// spaceRenewals has the next renewal keep clear of a write: see pace.
func (l *Lock) spaceRenewals(t *term, wrote clock.Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.wrote = wrote
}

var _ locks.Recorder = (*Lock)(nil)
