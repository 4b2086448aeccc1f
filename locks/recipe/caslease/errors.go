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
	errEnded    = locks.LostError("the store's lease has ended or was broken")
	// errNotTheTerm means that the term that was to be broken is over.
	errNotTheTerm = locks.LostError("that term has ended")
)

// Kinds of the engine's own errors. Neither is retried at once.
const (
	unmoved Kind = -1 - iota // see unmovedError; the write may have had an effect
	settled                  // another attempt would find the same, or enough were made
)

// A badRecordError is about a record that cannot be believed. A guess could mean that work is
// done twice.
type badRecordError struct{ what, hint string }

func (e *badRecordError) Error() string { return e.what }
func (e *badRecordError) fault() Fault  { return Fault{Kind: settled, Hint: e.hint} }

func (l *Lock) where(p Part) string { return "the " + l.traits.Cell + " " + l.traits.Where(l.key(p)) }

// foreign returns the error that a cell is not ours, and why we think so.
func (l *Lock) foreign(p Part, why error) error {
	if why == errNotOurs { //nolint:errorlint // nothing wraps it, and it says no more
		why = nil
	}
	return locks.Foreign(l.where(p), why, l.traits.Place)
}

// foreignRequest returns that error if somebody else uses the cell of requests. One of ours
// that makes no sense may be replaced.
func (l *Lock) foreignRequest(v *view) error {
	if v.Foreign != "" || v.exists() && v.State == "" {
		return l.foreign(Request, v.unreadable)
	}
	return nil
}

// fault classifies an error, of the engine or of the store.
func (l *Lock) fault(err error) Fault {
	var own interface{ fault() Fault }
	var explained *locks.Error
	switch {
	case errors.As(err, &own):
		return own.fault()
	case errors.As(err, &explained), errors.Is(err, locks.ErrLost), errors.Is(err, locks.ErrHeld), errors.Is(err, locks.ErrUsage):
		return Fault{Kind: settled}
	}
	return l.store.Fault(err)
}

func (l *Lock) kind(err error) Kind { return l.fault(err).Kind }

// stale reports whether a write was refused because the cell had changed.
func (l *Lock) stale(err error) bool { return err != nil && l.kind(err) == Changed }

// transient reports whether the same request may succeed soon.
func (k Kind) transient() bool {
	return k == Unknown || k == Throttled || k == Unsent || k == Unreachable
}

// hadNoEffect reports whether the request definitely had no effect.
func (k Kind) hadNoEffect() bool { return k >= Changed }

// isLost reports whether the lock is definitely not ours.
func isLost(err error) bool { return errors.Is(err, locks.ErrLost) }

func isContext(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// fail returns the error for the caller of a method: explained, with the operation and the lock.
func (l *Lock) fail(ctx context.Context, op string, err error) error {
	e := l.explain(err)
	e.Op, e.Backend, e.Name = op, l.traits.Backend, l.o.Name
	return e.Ended(ctx, isContext(err))
}

// explain returns the class of an error, a text of one line, and a hint.
func (l *Lock) explain(err error) *locks.Error {
	f := l.fault(err)
	e := &locks.Error{Class: locks.ErrUnavailable, Err: errors.New(f.Text), Hint: f.Hint}
	if f.Text == "" && f.Hint == "" && isContext(err) {
		e.Err, e.Hint = fmt.Errorf("no answer within %v", l.o.ConnectTimeout), l.traits.HintSilent
	} else if f.Text == "" {
		e.Err = errors.New(locks.Printable(err.Error()))
	}
	switch f.Kind {
	case Denied:
		e.Class = locks.ErrDenied
	case Refused:
		e.Class = locks.ErrRefused
	case Misnamed:
		e.Class = locks.ErrUsage
	}
	for _, class := range []error{locks.ErrLost, locks.ErrHeld, locks.ErrUsage} {
		if errors.Is(err, class) {
			e.Class, e.Err = class, err
		}
	}
	return e
}

// plain returns an explained error's text, for the log.
func (l *Lock) plain(err error) string { return l.explain(err).Err.Error() }
