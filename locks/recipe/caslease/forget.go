package caslease

import (
	"context"
	"errors"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// Forget implements [locks.Forgetter]. A cell that says that the lock is free is deleted. If
// the cell names a holder, only a run that can take the lock knows that the holder is gone.
// So a handle made for that first acquires the lock. A cell is not deleted while the store's clock
// is behind the lock's tokens: see Cell.Next.
func (l *Lock) Forget(ctx context.Context) error {
	bounded, cancel := l.Workers.Until(ctx)
	defer cancel()
	f := forgetting{lock: l}
	err := l.insist(bounded, func() error { return f.once(bounded) })
	f.end(ctx, err)
	if err == nil {
		return nil
	}
	if explained, ok := errors.AsType[*locks.Error](err); ok {
		explained.Op = "forget"
		return explained
	}
	return l.Fail(ctx, "forget", err)
}

// A forgetting is one call of Forget.
type forgetting struct {
	lock *Lock
	own  *Lock // has acquired the lock in order to delete it; nil: that was not needed
}

func (f *forgetting) once(ctx context.Context) error {
	v, err := f.lock.readOnce(ctx, Lease)
	switch {
	case err != nil:
		return err
	case !v.exists():
		return f.remove(ctx, Request, nil)
	}
	if (v.state.Is != free || v.Leased) && (f.own == nil || !f.own.wrote(v)) {
		if v, err = f.acquire(ctx); err != nil {
			return err
		}
	}
	if v.Next != 0 && v.Next <= v.token() {
		return errBehind
	}
	if err := f.remove(ctx, Lease, v); err != nil {
		return err
	}
	return f.remove(ctx, Request, nil)
}

// acquire acquires the lock and returns its cell. If the holder seems to be gone, it watches the
// lock until that is known, provided that there is time for that.
func (f *forgetting) acquire(ctx context.Context) (*view, error) {
	f.end(ctx, errReleased) // if we had the lock, somebody else has it now
	own := New(f.lock.store, *f.lock.traits, f.lock.Options)
	_, err := own.Acquire(ctx, true)
	held, ok := errors.AsType[*locks.HeldError](err)
	if end, limited := ctx.Deadline(); ok && held.Status.Confirm > 0 && (!limited || time.Until(end) > held.Status.Confirm) {
		watch, cancel := context.WithTimeout(ctx, held.Status.Confirm+own.Options.ConnectTimeout/2)
		defer cancel()
		if _, late := own.Acquire(watch, false); late == nil {
			err = nil
		}
	}
	if err != nil {
		return nil, err
	}
	f.own = own
	return own.term.known(), nil
}

// remove deletes a cell as it is in a view, if it exists. If the view is nil, remove first
// reads the cell, which is that of requests.
func (f *forgetting) remove(ctx context.Context, p Part, v *view) error {
	if v == nil {
		var err error
		if v, err = f.lock.readOnce(ctx, p); err != nil || !v.exists() {
			return err
		}
		if err := f.lock.foreignRequest(v); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, f.lock.Options.ConnectTimeout/2)
	defer cancel()
	return f.lock.store.Delete(ctx, f.lock.key(p), v.Cell)
}

// end releases what acquire acquired, unless its cell was deleted.
func (f *forgetting) end(ctx context.Context, why error) {
	if f.own == nil {
		return
	}
	if why != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
		defer cancel()
		_ = f.own.Release(ctx) // if that fails, its lease runs out
	}
	f.own.stop()
	f.own = nil
}

var _ locks.Forgetter = (*Lock)(nil)
