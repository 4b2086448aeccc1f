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

// WithHint says what to do about an error.
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

// Reword gives an error another text, and leaves it its class and its hint.
func Reword(err error, format string, args ...any) error {
	return &reworded{err, fmt.Sprintf(format, args...)}
}

type reworded struct {
	error
	text string
}

func (r *reworded) Error() string { return r.text }
func (r *reworded) Unwrap() error { return r.error }

// WithoutClass is the text of an error without the class that it may begin
// with, where the class goes without saying.
func WithoutClass(err error) string {
	text := err.Error()
	for _, class := range []error{locks.ErrLost, locks.ErrUnavailable} {
		text = strings.TrimPrefix(text, class.Error()+": ")
	}
	return text
}

// Explain adds to an error what the user calls the things in it.
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

// Quote shows a word of the user's in a message.
func Quote(s string) string { return strconv.Quote(locks.Abbreviate(locks.RedactText(s))) }

// oneLine joins the lines of an error of several, and puts into words what a
// context's end means to a user.
func oneLine(s string) string {
	for _, end := range []error{context.DeadlineExceeded, context.Canceled} {
		s = strings.ReplaceAll(s, end.Error(), "no answer in time")
	}
	return strings.ReplaceAll(strings.TrimSpace(s), "\n", "; ")
}
