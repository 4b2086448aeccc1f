package output

import (
	"errors"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// The exit statuses that are leaderrun's own, from sysexits.h where that has
// one, and from the shell.
const (
	ExitTimeout     = 124 // as timeout(1)
	ExitUsage       = 64
	ExitUnavailable = 69
	ExitInternal    = 70
	ExitHeld        = 75
	ExitLost        = 76
	ExitDenied      = 77
	ExitConfig      = 78
	ExitNotRunnable = 126
	ExitNotFound    = 127
)

// An Exit ends the program with a status of its own, as does any error that has the
// method ExitStatus.
type Exit struct {
	Status int
	Err    error // why; nil: there is nothing to say
	Quiet  bool  // only -v says it
}

func (e *Exit) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}
func (e *Exit) Unwrap() error   { return e.Err }
func (e *Exit) ExitStatus() int { return e.Status }

// ExitWith returns the error that has an exit status and says nothing; nil for 0.
func ExitWith(status int) error {
	if status == 0 {
		return nil
	}
	return &Exit{Status: status}
}

// Report prints an error, if there is one, ends the output, and returns the exit
// status.
func (t *Term) Report(err error) int {
	var exit *Exit
	switch {
	case err == nil, errors.As(err, new(*runner.SignalError)):
	case !errors.As(err, &exit), exit.Err != nil && !exit.Quiet:
		t.Fail(err)
	case exit.Err != nil:
		t.Info(err.Error())
	}
	t.Flush()
	return Status(err)
}

// Status maps an error to an exit status. The first class that fits counts: an
// error that ends a term may well wrap what made the last renewal fail.
func Status(err error) int {
	var own interface{ ExitStatus() int }
	var signalled *runner.SignalError
	var start *proc.StartError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &own):
		return own.ExitStatus()
	case errors.As(err, &signalled):
		return proc.Exit{Signal: signalled.Signal}.Status()
	case errors.As(err, &start) && start.NotFound:
		return ExitNotFound
	case errors.As(err, &start):
		return ExitNotRunnable
	case errors.Is(err, locks.ErrLost), errors.As(err, new(*runner.ResignError)):
		return ExitLost
	case errors.As(err, new(*runner.TimeoutError)):
		return ExitTimeout
	case errors.Is(err, locks.ErrHeld):
		return ExitHeld
	case errors.Is(err, locks.ErrUsage):
		return ExitUsage
	case errors.Is(err, locks.ErrDenied):
		return ExitDenied
	case errors.Is(err, locks.ErrUnavailable):
		return ExitUnavailable
	}
	return ExitInternal
}
