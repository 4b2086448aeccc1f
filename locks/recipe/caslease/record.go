package caslease

import (
	"context"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// The record is in the lock's own cell, next to the state. A write of it has the same
// condition as a renewal, so it fails if the lock is not ours, and none of our other writes
// changes it.
//
// It does not extend the lease: it does not write the state again, and it does not move the
// moment from which we count the lease. It does move Updated, so others may wait longer,
// which does no harm.

// badRecord reports whether there is a record that leaderrun did not write.
func (v *view) badRecord() bool { return v.BadRecord || locks.CheckText(v.Record) != nil }

// Record implements [locks.Recorder]. It needs a cell that the store can read, but not a
// state that makes sense.
func (l *Lock) Record(ctx context.Context) (text []byte, err error) {
	err = l.Request(ctx, "read the record of", func(ctx context.Context) error {
		v, err := l.glance(ctx)
		switch {
		case err != nil:
			return err
		case v.Foreign != "":
			return l.foreign(Lease, v.unreadable)
		case v.badRecord(): // if it counted as none, work that was done could be done again
			return &badRecordError{l.where(Lease) + " has " + l.traits.Record + " that leaderrun did not write", l.traits.HintRecord}
		}
		text = v.Record
		return nil
	})
	return text, err
}

// SetRecord implements [locks.Recorder].
func (l *Lock) SetRecord(ctx context.Context, text []byte) error {
	l.mu.Lock()
	t, final := l.term, l.final
	l.mu.Unlock()
	if err := locks.CheckText(text); err != nil {
		return err
	}
	return l.Request(ctx, "write the record of", func(ctx context.Context) error {
		switch {
		case final != nil:
			return final
		case t == nil:
			return errNotHeld
		}
		return l.setRecord(ctx, t, append([]byte{}, text...))
	})
}

// setRecord writes the record until the store acknowledges it, or we may no longer write.
// If the answer to a write was lost, the write is repeated. If the first one took effect,
// the store refuses the second one, because the cell has changed. Then the cell is read,
// and if it is still ours, the record is written once more.
func (l *Lock) setRecord(ctx context.Context, t *term, text []byte) error {
	stop := func(error, time.Duration) error { return l.mayWrite(t, l.now()) } // also if the cell cannot be read
	return l.repeat(ctx, l.traits.Pace, stop, func() error { return l.setRecordOnce(ctx, t, text) })
}

func (l *Lock) setRecordOnce(ctx context.Context, t *term, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, l.Options.ConnectTimeout/2)
	defer cancel()
	if err := l.afterRenewal(ctx); err != nil {
		return err
	}
	at, sent, err := l.writable(ctx, t)
	if err != nil {
		return err
	}
	t.writes(sent) // the next renewal keeps its distance: see paced
	v, err := l.rewrite(ctx, at, Value{Record: text})
	if err == nil || l.stale(err) {
		t.note(at, v, 0)
	}
	return err
}

var _ locks.Recorder = (*Lock)(nil)
