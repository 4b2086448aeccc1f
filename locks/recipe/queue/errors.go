package queue

import (
	"context"
	"errors"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// How a term ended. That an entry or a session ended otherwise, the store tells.
const (
	errReleased = locks.LostError("the handle was released")
	errNotHeld  = locks.LostError("the handle does not hold the lock")
)

// fault judges an error, whether it is of a class already or the store's.
func (l *Lock) fault(err error) Fault {
	for _, class := range []error{locks.ErrLost, locks.ErrHeld, locks.ErrUsage} {
		if errors.Is(err, class) {
			return Fault{Class: class}
		}
	}
	return l.store.Fault(err)
}

// fail adds what an error needs at the boundary of the backend, but to one that says who
// holds the lock. If the caller's context has ended, that is what the error wraps.
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

// request makes one of the store, unless the handle is closed.
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

func (l *Lock) transient(err error) bool { return l.fault(err).Transient }

// plain is the text of an error as [locks.Error] has it, for the log.
func (l *Lock) plain(err error) string {
	if f := l.fault(err); f.Text != "" {
		return f.Text
	}
	return err.Error()
}
