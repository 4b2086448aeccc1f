package runner

import (
	"context"
	"errors"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// Reasons are for people. Whoever counts transitions, or decides by them, has a
// class beside each: one of these words, of which there are few.
const (
	classSignal      = "signal"      // we were sent one
	classRuntime     = "runtime"     // --max-runtime is over
	classResigned    = "resigned"    // the lock is given up on purpose
	classUnguarded   = "unguarded"   // the job's guard has died, or does not answer
	classExpired     = "expired"     // no renewal was acknowledged in time
	classTimeout     = "timeout"     // there was no answer in time
	classUnavailable = "unavailable" // the backend could not be reached
	classDenied      = "denied"      // the backend denied permission
	ClassLost        = "lost"        // the lock is somebody else's, or its session gone
	classHeld        = "held"        // somebody else holds the lock
	classLeftovers   = "leftovers"   // of a job whose first process has ended
	classElected     = "elected"     // the wait is over that a hook ran beside
	classSucceeded   = "succeeded"   // the job exited with 0
	classFailed      = "failed"      // the job did not
	classError       = "error"       // none of these
)

// ClassOf returns the class of an error. The first one that fits counts: what
// ended a term may well wrap what made the last renewal fail.
func ClassOf(err error) string {
	switch {
	case errors.As(err, new(*SignalError)):
		return classSignal
	case errors.As(err, new(*TimeoutError)):
		return classRuntime
	case errors.As(err, new(*ResignError)):
		return classResigned
	case errors.Is(err, proc.ErrUnguarded):
		return classUnguarded
	case errors.Is(err, errNoRenewal), errors.Is(err, keepalive.ErrExpired):
		return classExpired
	case errors.Is(err, errNoWait):
		return classElected
	case errors.Is(err, context.DeadlineExceeded):
		return classTimeout
	case errors.Is(err, locks.ErrDenied):
		return classDenied
	case errors.Is(err, locks.ErrUnavailable):
		return classUnavailable
	case errors.Is(err, locks.ErrLost):
		return ClassLost
	}
	return classError
}

// classOfEnd is that of the end of a job or a term.
func classOfEnd(exit proc.Exit, err error) string {
	switch {
	case err != nil:
		return ClassOf(err)
	case exit.Status() != 0:
		return classFailed
	}
	return classSucceeded
}

// cause is the class of why what it watches is being ended.
func (s *supervisor) cause() string {
	switch {
	case s.lost != nil:
		return ClassOf(s.lost)
	case s.ousted != nil:
		return ClassOf(s.ousted)
	case s.sent != nil:
		return classSignal
	case s.exited:
		return classLeftovers
	}
	return classError
}
