package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
)

// A Level is the result of a check.
type Level string

// The levels, and what they mean to a reader.
const (
	OK      Level = "ok"
	Warning Level = "warning" // a risk, or something that could not be checked
	Error   Level = "error"   // leaderrun would fail, or could not give its guarantee
	Skipped Level = "skipped" // the text says why
)

// A Check is the result for one thing. Its texts can be shown on a terminal as they are.
type Check struct {
	Name  string `json:"name"`
	Level Level  `json:"level"`
	Text  string `json:"text"`          // what was found
	Fix   string `json:"fix,omitempty"` // what to do about it
	// Figures has what was found as numbers and words. Durations are in nanoseconds, and
	// their names end with "_ns".
	Figures figures `json:"figures,omitempty"`

	class error // of the failure: one of locks.Err…, or nil
}

// figures has the values of a check by name.
type figures map[string]any

func ok(name string, f figures, format string, args ...any) Check {
	return Check{Name: name, Level: OK, Figures: f, Text: fmt.Sprintf(format, args...)}
}

func skipped(name, why string) Check { return Check{Name: name, Level: Skipped, Text: why} }

func warning(name, fix, format string, args ...any) Check {
	return Check{Name: name, Level: Warning, Fix: fix, Text: fmt.Sprintf(format, args...)}
}

// wrong returns a failed check for an error that no call has returned.
func wrong(name, fix, format string, args ...any) Check {
	return Check{Name: name, Level: Error, Fix: fix, Text: fmt.Sprintf(format, args...)}
}

// failed returns a failed check for an error that a call has returned. The backend's hint is
// the fix, if it has one.
func failed(name string, err error) Check {
	c := Check{Name: name, Level: Error, Text: output.OneLine(err.Error()), Fix: locks.Hint(err), class: classOf(err)}
	if c.Fix == "" {
		c.Fix = remedy(c.class)
	}
	return c
}

// classOf returns the class that decides the exit status.
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

// remedy says what to do about an error of a class, if the backend does not.
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

// worst returns the most important class of all failed checks: first an unreachable server,
// then a denied permission, then wrong settings, then ErrOther. It returns nil if no check
// failed.
func worst(checks []Check) error {
	var found error
	for _, class := range []error{errOther, locks.ErrUsage, locks.ErrDenied, locks.ErrUnavailable} {
		for _, c := range checks {
			if c.Level == Error && errors.Is(c.classed(), class) {
				found = class
			}
		}
	}
	return found
}

// errOther is the class of all other failures.
var errOther = errors.New("other")

func (c Check) classed() error {
	if c.class == nil {
		return errOther
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
