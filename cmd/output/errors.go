package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// WithHint adds to an error what to do about it.
func WithHint(err error, hint string) error { return &hinted{err, hint} }

type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

func hintOf(err error) string {
	var h *hinted
	if errors.As(err, &h) && h.hint != "" {
		return h.hint
	}
	return locks.Hint(err)
}

// Reword gives an error another text. Its class and its hint remain.
func Reword(err error, format string, args ...any) error {
	return &reworded{err, fmt.Sprintf(format, args...)}
}

type reworded struct {
	error
	text string
}

func (r *reworded) Error() string { return r.text }
func (r *reworded) Unwrap() error { return r.error }

// WithoutClass returns the text of an error without the class that it may begin with, for
// messages that already say it.
func WithoutClass(err error) string {
	text := err.Error()
	for _, class := range []error{locks.ErrLost, locks.ErrUnavailable} {
		text = strings.TrimPrefix(text, class.Error()+": ")
	}
	return text
}

// Explain words an error in terms that the user knows, such as the lock's name.
func Explain(lock string, err error) error {
	var held *locks.HeldError
	switch {
	case errors.As(err, &held):
		return fmt.Errorf("lock %q: %w", lock, held)
	case errors.Is(err, locks.ErrUnavailable) && !errors.As(err, new(*locks.Error)):
		return WithHint(Reword(err, "lock %q: %s", lock, WithoutClass(err)),
			"the server may accept connections without answering, or need longer than -w or --connect-timeout")
	case errors.As(err, new(*proc.StartError)):
	case errors.Is(err, fs.ErrPermission) && !errors.Is(err, locks.ErrUsage) && !errors.Is(err, locks.ErrDenied):
		return fmt.Errorf("%w: %w", locks.ErrDenied, err)
	}
	return err
}

// Quote quotes a word of the user's for a message: short, and without passwords.
func Quote(s string) string { return strconv.Quote(locks.Abbreviate(s)) }

// OneLine joins the lines of an error's text, and says what the end of a context means to
// a user.
func OneLine(s string) string {
	for _, end := range []error{context.DeadlineExceeded, context.Canceled} {
		s = strings.ReplaceAll(s, end.Error(), "no answer in time")
	}
	return strings.ReplaceAll(strings.TrimSpace(s), "\n", "; ")
}
