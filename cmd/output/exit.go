package output

import (
	"errors"
	"os"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/program/threads"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/signals"
)

// The exit statuses of leaderrun itself. They are those of sysexits.h where it has one, and
// otherwise those of the shell and of timeout(1).
const (
	ExitTimeout     = 124 // as timeout(1)
	ExitUsage       = 64
	ExitUnavailable = 69
	ExitInternal    = 70
	ExitTasks       = 71 // EX_OSERR
	ExitHeld        = 75
	ExitLost        = 76
	ExitDenied      = 77
	ExitConfig      = 78
	ExitNotRunnable = 126
	ExitNotFound    = 127
)

// An Exit is an error with an exit status, like any error that has the method ExitStatus.
type Exit struct {
	Status int
	Err    error     // nil: print nothing
	Quiet  bool      // print it only with -v
	Signal os.Signal // we die of it, if that is possible, instead of exiting with Status; or nil
	Group  bool      // the rest of our process group gets it as well
}

func (e *Exit) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}
func (e *Exit) Unwrap() error   { return e.Err }
func (e *Exit) ExitStatus() int { return e.Status }

// ExitWith returns an error that has an exit status and prints nothing, or nil for 0.
func ExitWith(status int) error {
	if status == 0 {
		return nil
	}
	return &Exit{Status: status}
}

// Report prints an error, if there is one, ends the output, and returns the exit status.
func (c *Console) Report(err error) int {
	var exit *Exit
	switch {
	case err == nil, errors.As(err, new(*runner.SignalError)):
	case !errors.As(err, &exit), exit.Err != nil && !exit.Quiet:
		c.Fail(err)
	case exit.Err != nil:
		c.Info(err.Error())
	}
	c.Flush()
	return Status(err)
}

// Die ends us by the signal that has ended the run, if one has. A shell then stops a loop or
// a script around us, as it does around any other program. It would take an exit for the
// answer of a program that has handled the signal. Die returns if there is no such signal, or
// an exit is better.
func Die(err error) {
	var exit *Exit
	var signalled *runner.SignalError
	switch {
	case errors.As(err, &exit) && exit.Signal != nil:
		signals.Die(exit.Signal, exit.Group)
	case errors.As(err, &signalled):
		signals.Die(signalled.Signal, false)
	}
}

// Status returns the exit status of an error. The first class that matches counts, because
// the error that ends a term may wrap the one with which the last renewal failed. The
// statuses that -E sets are in cmd/run/exit.go.
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
	case errors.Is(err, threads.ErrOut) && !errors.Is(err, locks.ErrLost):
		return ExitTasks
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
