package queue

import (
	"context"
	"errors"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// Why a term ended. The store has its own errors for an entry or a session that ended.
const (
	errReleased = locks.LostError("the handle was released")
	errNotHeld  = locks.LostError("the handle does not hold the lock")
)

// fault classifies an error, unless it already has a class.
func (l *Lock) fault(err error) Fault {
	for _, class := range []error{locks.ErrLost, locks.ErrHeld, locks.ErrUsage} {
		if errors.Is(err, class) {
			return Fault{Class: class}
		}
	}
	return l.store.Fault(err)
}

// fail returns the error for the caller of a method, with the operation, the lock and a hint.
// A *locks.HeldError stays as it is. If the caller's context has ended, the error wraps the
// context's error.
func (l *Lock) fail(ctx context.Context, op string, err error) error {
	f := l.fault(err)
	if held, ok := errors.AsType[*locks.HeldError](err); ok && ctx.Err() == nil {
		return held
	}
	e := &locks.Error{Op: op, Backend: l.traits.Backend, Name: l.o.Name, Class: f.Class, Err: err, Hint: f.Hint}
	if f.Text != "" {
		e.Err = errors.New(f.Text)
	}
	return e.Ended(ctx, f.Timeout)
}

// request makes a request to the store, unless the handle is closed.
func (l *Lock) request(ctx context.Context, op string, f func() error) error {
	err := error(workers.ErrClosed)
	if !l.workers.Over() {
		err = f()
	}
	if err == nil {
		return nil
	}
	if ctx.Err() == nil && errors.Is(err, context.Canceled) && l.workers.Over() {
		err = workers.ErrClosed // meanwhile
	}
	return l.fail(ctx, op, err)
}

// plain returns an error's text as [locks.Error] has it, for the log.
func (l *Lock) plain(err error) string {
	if f := l.fault(err); f.Text != "" {
		return f.Text
	}
	return err.Error()
}
