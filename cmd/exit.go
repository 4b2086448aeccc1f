package cmd

import (
	"errors"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// The exit statuses that are leaderrun's own, from sysexits.h where that has
// one, and from the shell.
const (
	exitTimeout     = 124 // as timeout(1)
	exitUsage       = 64
	exitUnavailable = 69
	exitInternal    = 70
	exitDeclined    = 1 // asked at a terminal, the user said no
	exitHeld        = 75
	exitLost        = 76
	exitDenied      = 77
	exitConfig      = 78
	exitNotRunnable = 126
	exitNotFound    = 127
)

// report prints an error, if there is one, and returns the exit status.
func (p *program) report(err error) int {
	status := p.status(err)
	var signalled *runner.SignalError
	switch {
	case err == nil, errors.As(err, &signalled):
	case errors.As(err, new(*staysError)), errors.As(err, new(*changedError)): // it was what the command was for
		p.term.fail(err)
	case errors.Is(err, locks.ErrHeld), errors.As(err, new(*runner.SkippedError)), errors.As(err, new(*patienceError)):
		p.term.info(err.Error())
	default:
		p.term.fail(err)
	}
	p.term.flush()
	return status
}

// status maps an error to an exit status. The first class that fits counts: an
// error that ends a term may well wrap what made the last renewal fail.
func (p *program) status(err error) int {
	var signalled *runner.SignalError
	var start *proc.StartError
	switch {
	case err == nil:
		return p.exit
	case errors.As(err, new(declinedError)):
		return exitDeclined
	case errors.As(err, new(*configError)):
		return exitConfig
	case errors.As(err, &signalled):
		return proc.Exit{Signal: signalled.Signal}.Status()
	case errors.As(err, &start) && start.NotFound:
		return exitNotFound
	case errors.As(err, &start):
		return exitNotRunnable
	case errors.As(err, new(*runner.SkippedError)):
		return p.skipped
	case errors.Is(err, locks.ErrLost), errors.As(err, new(*runner.ResignError)):
		return exitLost
	case errors.As(err, new(*runner.TimeoutError)):
		return exitTimeout
	case errors.Is(err, locks.ErrHeld), errors.As(err, new(*patienceError)):
		return p.held
	case errors.Is(err, locks.ErrUsage):
		return exitUsage
	case errors.Is(err, locks.ErrDenied):
		return exitDenied
	case errors.Is(err, locks.ErrUnavailable):
		return exitUnavailable
	}
	return exitInternal
}
