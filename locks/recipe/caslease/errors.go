package caslease

import (
	"errors"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/kit/handle"
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
	unmoved causes.Kind = -1 - iota // see unmovedError; the write may have had an effect
	settled                         // another attempt would find the same, or enough were made
)

// A badRecordError is about a record that cannot be believed. A guess could mean that work is
// done twice.
type badRecordError struct{ what, hint string }

func (e *badRecordError) Error() string       { return e.what }
func (e *badRecordError) fault() causes.Fault { return causes.Fault{Kind: settled, Hint: e.hint} }

// errBehind means that tokens would fall if the cell was deleted. A clock that is only a little
// behind soon is not.
const errBehind = behindError("the server's clock is behind the lock's tokens, and those of a lock that is made anew would start from it")

type behindError string

func (e behindError) Error() string { return string(e) }
func (e behindError) fault() causes.Fault {
	return causes.Fault{Kind: causes.Unsent, Hint: "set the server's clock"}
}

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
func (l *Lock) fault(err error) causes.Fault {
	var own interface{ fault() causes.Fault }
	var explained *locks.Error
	switch {
	case errors.As(err, &own):
		return own.fault()
	case errors.As(err, &explained), handle.Class(err) != nil:
		return causes.Fault{Kind: settled}
	}
	return l.store.Fault(err)
}

func (l *Lock) kind(err error) causes.Kind { return l.fault(err).Kind }

// stale reports whether a write was refused because the cell had changed.
func (l *Lock) stale(err error) bool { return err != nil && l.kind(err) == causes.Changed }

// isLost reports whether the lock is definitely not ours.
func isLost(err error) bool { return errors.Is(err, locks.ErrLost) }

// explain explains an error that has no class yet: see [handle.Handle].
func (l *Lock) explain(err error) (e *locks.Error, onlyTime bool) {
	onlyTime = causes.IsContext(err)
	return l.fault(err).Explain(err, onlyTime, l.Options.ConnectTimeout, l.traits.HintSilent), onlyTime
}
