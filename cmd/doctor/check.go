package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
)

// A Level is what came of a check.
type Level string

// The levels, and what a reader is to make of them.
const (
	OK      Level = "ok"
	Warning Level = "warning" // it works, but not for long, or not well
	Error   Level = "error"   // leaderrun would fail, or could not keep its promise
	Skipped Level = "skipped" // the text says why
)

// A Check is one thing that was looked at. Its texts are fit for a terminal.
type Check struct {
	Name  string `json:"name"`
	Level Level  `json:"level"`
	Text  string `json:"text"`          // what was found
	Fix   string `json:"fix,omitempty"` // what to do about it
	// Figures are what was found as numbers and words; durations are in
	// nanoseconds, and their names end with "_ns".
	Figures Figures `json:"figures,omitempty"`

	class error // of what failed: one of locks.Err…, or nil
}

// Figures are the values of a check by name.
type Figures map[string]any

func ok(name string, f Figures, format string, args ...any) Check {
	return Check{Name: name, Level: OK, Figures: f, Text: fmt.Sprintf(format, args...)}
}

func skipped(name, why string) Check { return Check{Name: name, Level: Skipped, Text: why} }

func warning(name, fix, format string, args ...any) Check {
	return Check{Name: name, Level: Warning, Fix: fix, Text: fmt.Sprintf(format, args...)}
}

// wrong is an error that no call returned.
func wrong(name, fix, format string, args ...any) Check {
	return Check{Name: name, Level: Error, Fix: fix, Text: fmt.Sprintf(format, args...)}
}

// failed is a check whose call returned an error. The backend's own hint is the
// fix, if it has one.
func failed(name string, err error) Check {
	c := Check{Name: name, Level: Error, Text: output.OneLine(err.Error()), Fix: locks.Hint(err), class: classOf(err)}
	if c.Fix == "" {
		c.Fix = remedy(c.class)
	}
	return c
}

// classOf returns the class that decides about the exit status.
func classOf(err error) error {
	for _, class := range []error{locks.ErrDenied, locks.ErrUsage, locks.ErrUnavailable} {
		if errors.Is(err, class) {
			return class
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return locks.ErrUnavailable
	}
	return nil
}

// remedy is what to do about an error of a class of which the backend says no more.
func remedy(class error) string {
	switch {
	case errors.Is(class, locks.ErrDenied):
		return "grant this user the permission; the backend's documentation lists what leaderrun needs"
	case errors.Is(class, locks.ErrUnavailable):
		return "check that the server runs, that its address is right, and that no firewall is in between"
	case errors.Is(class, locks.ErrUsage):
		return "correct the backend's URL or its variables"
	}
	return "see the server's log, and leaderrun doctor -vv"
}

// Worst returns the class of what failed that counts most: a server that cannot
// be reached, then what it refuses, then wrong settings. Without any of these
// it is an ErrOther; nil if nothing failed.
func Worst(checks []Check) error {
	var found error
	for _, class := range []error{ErrOther, locks.ErrUsage, locks.ErrDenied, locks.ErrUnavailable} {
		for _, c := range checks {
			if c.Level == Error && errors.Is(c.classed(), class) {
				found = class
			}
		}
	}
	return found
}

// ErrOther is the class of what failed otherwise.
var ErrOther = errors.New("other")

func (c Check) classed() error {
	if c.class == nil {
		return ErrOther
	}
	return c.class
}

// show rounds a duration for people, to three digits or so.
func show(d time.Duration) string {
	unit := time.Nanosecond
	for d >= 1000*unit && unit < 10*time.Millisecond {
		unit *= 10
	}
	return d.Round(unit).String()
}
