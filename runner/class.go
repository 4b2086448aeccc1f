package runner

import (
	"context"
	"errors"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/locks/program/threads"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A class says what an error means for us. Only classify decides that.
type class struct {
	word    string // for events
	lost    bool   // leadership was lost, or could not be kept
	final   bool   // another campaign would end with it again
	out     bool   // the machine is out of tasks: another start may succeed soon
	restart bool   // another start of the job may succeed
}

func classify(err error) class {
	return class{
		word:    ClassOf(err),
		lost:    errors.Is(err, locks.ErrLost),
		final:   isFinal(err),
		out:     isOut(err),
		restart: isA[*TimeoutError](err) || isOut(err) || isA[*proc.StartError](err) && proc.Passing(err),
	}
}

// ClassOf returns the word for an error. The first that fits counts, because the error
// that ended a term may wrap the error of the last renewal.
func ClassOf(err error) string {
	switch {
	case isA[*SignalError](err):
		return event.ClassSignal
	case isA[*TimeoutError](err):
		return event.ClassRuntime
	case isA[*ResignError](err):
		return event.ClassResigned
	case isA[*SkippedError](err):
		return event.ClassDone
	case errors.Is(err, locks.ErrHeld):
		return event.ClassHeld
	case isOut(err):
		return event.ClassTasks
	case errors.Is(err, proc.ErrUnguarded):
		return event.ClassUnguarded
	case errors.Is(err, errNoRenewal), errors.Is(err, keepalive.ErrExpired):
		return event.ClassExpired
	case errors.Is(err, errNoWait):
		return event.ClassElected
	case errors.Is(err, context.DeadlineExceeded):
		return event.ClassTimeout
	case errors.Is(err, locks.ErrDenied):
		return event.ClassDenied
	case errors.Is(err, locks.ErrUnavailable):
		return event.ClassUnavailable
	case errors.Is(err, locks.ErrLost):
		return event.ClassLost
	}
	return event.ClassError
}

func isFinal(err error) bool {
	switch {
	case isA[*SignalError](err), isA[*OuterError](err), errors.Is(err, locks.ErrUsage), errors.Is(err, locks.ErrDenied):
		return true
	case isA[*openError](err), isA[*proc.StartError](err):
		return !proc.Passing(err)
	}
	return false
}

// isOut reports whether nothing was started because the machine is out of tasks. The last
// renewal of a lease that was lost may have failed because of that.
func isOut(err error) bool { return errors.Is(err, threads.ErrOut) && !errors.Is(err, locks.ErrLost) }

func isA[E error](err error) bool { return errors.As(err, new(E)) }

// An openError is an error of Open, which contacts no server: a helper program is
// missing, or a file cannot be read.
type openError struct{ error }

func (e *openError) Unwrap() error { return e.error }
