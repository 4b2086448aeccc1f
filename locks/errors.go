package locks

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// The classes of errors. An error from a backend wraps at most one of them. Package cmd
// maps each class to an exit status.
var (
	// ErrHeld: somebody else holds the lock. The error is a [HeldError].
	ErrHeld = errors.New("held by someone else")
	// ErrLost: the lock, or the place in its queue, is certainly no longer ours. This is
	// final for the handle.
	ErrLost = errors.New("lost")
	// ErrDenied: the server or the file system refused for lack of permission. Another
	// attempt would be refused as well.
	ErrDenied = errors.New("permission denied")
	// ErrUnavailable: the server did not answer. Another attempt may succeed.
	ErrUnavailable = errors.New("unavailable")
	// ErrRefused is an ErrUnavailable: the server did answer, and will answer the same until
	// somebody changes something, for example creates the database that the URL names.
	ErrRefused = fmt.Errorf("%w: refused", ErrUnavailable)
	// ErrUsage: the request is invalid (an unknown parameter, a malformed address), or what
	// has the lock's place in the store is not ours: see [Foreign]. Nothing was changed.
	ErrUsage = errors.New("usage")

	// ErrNoLease is what Renew returns while there is nothing to renew: before we have a
	// place in the queue, or if places and locks need no renewal. It is neither a success
	// nor a failure.
	ErrNoLease = errors.New("no lease to renew")
)

// A HeldError is ErrHeld with what is known about the holder.
type HeldError struct{ Status Status }

func (e *HeldError) Error() string {
	if e.Status.Holder == "" {
		return ErrHeld.Error()
	}
	return "held by " + Printable(e.Status.Holder)
}

func (e *HeldError) Unwrap() error { return ErrHeld }

// An Error reports which operation failed, on what, in the shape of fs.PathError. Only
// the backend's outermost functions add it.
type Error struct {
	Op      string // "acquire", "renew", "release", "open"
	Backend string // the scheme and, where there is one, the address; no password
	Name    string // the lock's name
	Class   error  // one of the Err… values, or nil
	Err     error  // what happened
	Hint    string // what the user might do, a sentence without a full stop; may be empty
}

func (e *Error) Error() string {
	if e.Name == "" { // about all locks
		return fmt.Sprintf("%s on %s: %v", e.Op, e.Backend, e.Err)
	}
	return fmt.Sprintf("%s %q on %s: %v", e.Op, e.Name, e.Backend, e.Err)
}

// Unwrap returns the class and the cause, so that errors.Is finds both.
func (e *Error) Unwrap() []error {
	if e.Class == nil {
		return []error{e.Err}
	}
	return []error{e.Class, e.Err}
}

// Ended makes e wrap ctx.Err() if the caller's context has ended. With onlyTime, e then
// reports nothing else, because only the end of the context is known. An error that
// wraps ErrLost stays as it is.
func (e *Error) Ended(ctx context.Context, onlyTime bool) *Error {
	switch ended := ctx.Err(); {
	case ended == nil, errors.Is(e, ErrLost):
	case onlyTime:
		e.Err = ended
	default:
		e.Err = fmt.Errorf("%w (%w)", ended, e.Err)
	}
	return e
}

// ServerClass returns the class of err as in [Server].Class.
func ServerClass(err error) string {
	switch {
	case errors.Is(err, ErrDenied):
		return "denied"
	case errors.Is(err, ErrUnavailable):
		return "unavailable"
	}
	return ""
}

// Hint returns the hint in err or in an error that it wraps, or "" if there is none.
func Hint(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

// A UsageError is an ErrUsage about one thing that the user wrote.
type UsageError struct {
	What string   // what is wrong: `unknown parameter "cacrt"`
	Near string   // the nearest known word, or ""
	Have []string // all known words, or nil
}

// Usagef returns a UsageError with a formatted description of what is wrong.
func Usagef(format string, args ...any) *UsageError {
	return &UsageError{What: fmt.Sprintf(format, args...)}
}

// Unknown returns the UsageError for a word that is not among the known ones. The kind is
// what the word should have been: "parameter", "backend".
func Unknown(kind, word string, known []string) *UsageError {
	return &UsageError{What: fmt.Sprintf("unknown %s %q", kind, word), Near: Nearest(word, known), Have: known}
}

func (e *UsageError) Error() string {
	s := e.What
	if e.Near != "" {
		s += fmt.Sprintf(" (did you mean %q?)", e.Near)
	}
	if len(e.Have) > 0 {
		s += "; known: " + strings.Join(e.Have, ", ")
	}
	return s
}

func (e *UsageError) Unwrap() error { return ErrUsage }

// Foreign returns the UsageError that something in the store, "the key x/y", is in the way of
// a lock and not ours, so that nothing may be changed about it. The error why, if it is not
// nil, completes "it …". The user can choose another place: "prefix".
func Foreign(what string, why error, place string) *UsageError {
	reason := ""
	if why != nil {
		reason = ": it " + why.Error()
	}
	return Usagef("%s was not made by leaderrun%s; nothing of it was changed; choose another %s", what, reason, place)
}

// A LostError describes how a term ended. It wraps ErrLost.
type LostError string

func (e LostError) Error() string { return string(e) }
func (e LostError) Unwrap() error { return ErrLost }
