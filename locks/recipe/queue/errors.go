package queue

import (
	"errors"

	"github.com/leaderrun/leaderrun/locks"
)

// Why a term ended. The store has its own errors for an entry or a session that ended.
const (
	errReleased = locks.LostError("the handle was released")
	errNotHeld  = locks.LostError("the handle does not hold the lock")
)

// A Fault says what an error means.
type Fault struct {
	// Explained has the class, [locks.ErrDenied] or [locks.ErrUnavailable], the error in one
	// line without secrets, and a hint.
	Explained *locks.Error
	// Timeout reports that nothing is known except that the time was up.
	Timeout bool
	// Transient reports that another attempt may succeed.
	Transient bool
}

// fault classifies an error, unless it already has a class.
func (l *Lock) fault(err error) Fault {
	for _, class := range []error{locks.ErrLost, locks.ErrHeld, locks.ErrUsage} {
		if errors.Is(err, class) {
			return Fault{}
		}
	}
	return l.store.Fault(err)
}
