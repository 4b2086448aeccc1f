package caslease

import (
	"context"
	"errors"

	"github.com/leaderrun/leaderrun/locks"
)

// Forget implements [locks.Forgetter]. A cell that says that it is free is
// deleted as it is. If it names a holder, only who can have the lock can know that
// there is none: so that is acquired first, by a handle of its own.
func (l *Lock) Forget(ctx context.Context) error {
	bounded, cancel := l.workers.Until(ctx)
	defer cancel()
	f := forgetting{Lock: l}
	err := l.insist(bounded, func() error { return f.once(bounded) })
	f.end(ctx, err)
	held, isHeld := errors.AsType[*locks.HeldError](err)
	told, isTold := errors.AsType[*locks.Error](err)
	switch {
	case err == nil:
		return nil
	case isHeld && ctx.Err() == nil:
		return held
	case isTold:
		told.Op = "forget"
		return told
	}
	return l.fail(ctx, "forget", err)
}

// A forgetting is one call of Forget.
type forgetting struct {
	*Lock
	own *Lock // which has the lock to delete it; nil: none was needed
}

func (f *forgetting) once(ctx context.Context) error {
	v, err := f.readOnce(ctx, Lease)
	switch {
	case err != nil:
		return err
	case !v.exists():
		return f.remove(ctx, Request, nil)
	}
	if v.state.Is != free && (f.own == nil || !f.own.ours(v)) {
		if v, err = f.acquire(ctx); err != nil {
			return err
		}
	}
	if err := f.remove(ctx, Lease, v); err != nil {
		return err
	}
	return f.remove(ctx, Request, nil)
}

// acquire returns how the cell is once the lock is ours.
func (f *forgetting) acquire(ctx context.Context) (*view, error) {
	f.end(ctx, errReleased) // what we had is somebody else's
	own := New(f.store, *f.traits, f.o)
	if _, err := own.Acquire(ctx, true); err != nil {
		return nil, err
	}
	f.own = own
	return own.known(own.term), nil
}

// remove deletes a cell, if there is one. Without a view, it is read before.
func (f *forgetting) remove(ctx context.Context, p Part, v *view) error {
	if v == nil {
		var err error
		if v, err = f.readOnce(ctx, p); err != nil || !v.exists() {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, f.o.ConnectTimeout/2)
	defer cancel()
	return f.store.Delete(ctx, f.key(p), v.Cell)
}

// end gives back what was acquired, if it was not deleted.
func (f *forgetting) end(ctx context.Context, why error) {
	if f.own == nil {
		return
	}
	if why != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
		defer cancel()
		_ = f.own.Release(ctx) // else its lease runs out
	}
	f.own.stop()
	f.own = nil
}

var _ locks.Forgetter = (*Lock)(nil)
