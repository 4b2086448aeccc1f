package helper

import (
	"errors"
	"strings"
	"unicode"

	"github.com/leaderrun/leaderrun/locks"
)

// A wireError is an error from a backend on its way to the core.
type wireError struct {
	Class   string        `json:"class,omitempty"` // "": none
	Message string        `json:"message"`
	Op      string        `json:"op,omitempty"`      // with Backend: the error is a locks.Error
	Backend string        `json:"backend,omitempty"` // without a password
	Hint    string        `json:"hint,omitempty"`
	Status  *locks.Status `json:"status,omitempty"` // class held
}

// The limits of texts that a helper sends, in bytes. All of them together fit into a
// line, even if each byte is escaped.
const (
	maxText    = 1 << 10
	maxMessage = 2 << 10
)

// toWire splits an error into its parts, in which hide replaces secrets. An error that is not
// itself a locks.Error keeps its whole text, so that no wrapping text is lost.
func toWire(err error, hide func(string) string) *wireError {
	w := &wireError{Class: className(err), Message: locks.Cut(hide(err.Error()), maxMessage), Hint: locks.Cut(hide(locks.Hint(err)), maxText)}
	if e, ok := err.(*locks.Error); ok { //nolint:errorlint // only the outermost, see above
		w.Op, w.Backend = locks.Cut(e.Op, maxText), locks.Cut(e.Backend, maxText) // our own words
		w.Message = locks.Cut(hide(e.Err.Error()), maxMessage)
	}
	var held *locks.HeldError
	if errors.As(err, &held) {
		s := fitStatus(held.Status)
		w.Status = &s
	}
	return w
}

// fromWire rebuilds the error. An error with neither an operation nor a hint becomes a
// plain one. With only a hint, the operation and the backend are those of where.
func fromWire(w *wireError, where locks.Error, clean func(string) string) error {
	var err error = &remoteError{class: classNamed(w.Class), text: clean(w.Message)}
	if w.Class == "held" {
		held := &locks.HeldError{Status: locks.Status{Held: true}}
		if w.Status != nil {
			held.Status = *w.Status
		}
		err = held
	}
	if w.Op == "" && w.Hint == "" {
		return err
	}
	if w.Op != "" {
		where.Op, where.Backend = clean(w.Op), clean(w.Backend)
	}
	where.Class, where.Err, where.Hint = classNamed(w.Class), err, clean(w.Hint)
	return &where
}

// A remoteError is the text of an error in the helper, and its class, or nil.
type remoteError struct {
	class error
	text  string
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.class }

// className returns the name of err's class on the wire, or "" if it has none.
func className(err error) string {
	for _, c := range classes() {
		if errors.Is(err, c.err) {
			return c.name
		}
	}
	return ""
}

// classNamed returns the class with that name, or nil if there is none, which the core
// treats as unavailable.
func classNamed(name string) error {
	for _, c := range classes() {
		if c.name == name {
			return c.err
		}
	}
	return nil
}

type class struct {
	name string
	err  error
}

func classes() []class {
	return []class{
		{"held", locks.ErrHeld},
		{"lost", locks.ErrLost},
		{"denied", locks.ErrDenied},
		{"refused", locks.ErrRefused}, // before its own class
		{"unavailable", locks.ErrUnavailable},
		{"usage", locks.ErrUsage},
		{"no_lease", locks.ErrNoLease},
	}
}

// plain makes a helper's text one line that is safe for a terminal.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return ' '
	}, locks.Cut(s, maxMessage))
}
