package caslease

import (
	"context"
	"errors"
	"fmt"

	"github.com/leaderrun/leaderrun/locks"
)

// How a term ended.
const (
	errReleased = locks.LostError("the handle was released")
	errNotHeld  = locks.LostError("the lock is not held")
	errExpired  = locks.LostError("the lease ran out before it was renewed")
	errTaken    = locks.LostError("someone else has taken the lock over")
	errFreed    = locks.LostError("someone else has marked the lock as free")
	// errNotTheTerm: what was to be taken away is not held any more.
	errNotTheTerm = locks.LostError("that term has ended")
)

// Kinds of the engine's own errors. Neither is worth another attempt at once.
const (
	unmoved Kind = -1 - iota // see unmovedError: it may have had an effect
	settled                  // it says how the cell is, or comes from who has tried enough
)

// A foreignError is about a cell that is in the way: what it says cannot be believed,
// and to guess could mean two holders, or to run again what was done.
type foreignError struct{ what, hint string }

func (e *foreignError) Error() string { return e.what }
func (e *foreignError) fault() Fault  { return Fault{Kind: settled, Hint: e.hint} }

// foreign is the error about a cell that is in the way.
func (l *Lock) foreign(p Part, why error, hint string) error {
	return &foreignError{fmt.Sprintf("the %s %s %v", l.traits.Cell, l.traits.Where(l.key(p)), why), hint}
}

// fault judges an error, whether it is the engine's own or the store's.
func (l *Lock) fault(err error) Fault {
	var own interface{ fault() Fault }
	var told *locks.Error
	switch {
	case errors.As(err, &own):
		return own.fault()
	case errors.As(err, &told), errors.Is(err, locks.ErrLost), errors.Is(err, locks.ErrHeld), errors.Is(err, locks.ErrUsage):
		return Fault{Kind: settled}
	}
	return l.store.Fault(err)
}

func (l *Lock) kind(err error) Kind { return l.fault(err).Kind }

// stale reports that a write was refused because the cell is not as it was.
func (l *Lock) stale(err error) bool { return err != nil && l.kind(err) == Changed }

// transient reports that the same request may succeed soon.
func (k Kind) transient() bool {
	return k == Unknown || k == Throttled || k == Unsent || k == Unreachable
}

// refused reports that a request surely had no effect.
func (k Kind) refused() bool { return k >= Changed }

// gone reports that the lock is surely not ours.
func gone(err error) bool { return errors.Is(err, locks.ErrLost) }

func isContext(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// fail adds what an error needs at the boundary of the backend.
func (l *Lock) fail(ctx context.Context, op string, err error) error {
	e := l.explain(err)
	e.Op, e.Backend, e.Name = op, l.traits.Backend, l.o.Name
	return e.Ended(ctx, isContext(err))
}

// explain finds the class of an error, a text that fits one line, and a hint.
func (l *Lock) explain(err error) *locks.Error {
	f := l.fault(err)
	e := &locks.Error{Class: locks.ErrUnavailable, Err: errors.New(f.Text), Hint: f.Hint}
	if f.Text == "" && f.Hint == "" && isContext(err) {
		e.Err, e.Hint = fmt.Errorf("no answer within %v", l.o.ConnectTimeout), l.traits.HintSilent
	} else if f.Text == "" {
		e.Err = errors.New(locks.Printable(err.Error()))
	}
	if f.Kind == Denied {
		e.Class = locks.ErrDenied
	}
	for _, class := range []error{locks.ErrLost, locks.ErrHeld, locks.ErrUsage} {
		if errors.Is(err, class) {
			e.Class, e.Err = class, err
		}
	}
	return e
}

// plain is the text of an error as [locks.Error] has it, for the log.
func (l *Lock) plain(err error) string { return l.explain(err).Err.Error() }
