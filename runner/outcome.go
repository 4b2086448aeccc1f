package runner

import (
	"errors"
	"log/slog"
	"os"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/signals"
)

// An outcome is how a task or a term ended.
type outcome struct {
	exit       Exit          // how the first process ended, if err is nil
	err        error         // why it did not end by itself, or not under the lock
	sent       os.Signal     // the signal that ended us, or nil
	began      clock.Instant // when the task was started; 0: it was not started
	unkillable bool          // processes of it are left that we could not kill
	status     string        // the exit status of the first process; "" if it is unknown
}

func (o outcome) failed() bool { return o.err != nil || o.exit.Status() != 0 }

// failure returns why it failed; it is for a failed outcome.
func (o outcome) failure() error {
	if o.err != nil {
		return o.err
	}
	return errors.New(o.exit.String())
}

// class returns the class of the error, or of the exit if there is no error.
func (o outcome) class() class {
	switch {
	case o.err != nil:
		return classify(o.err)
	case o.failed():
		return class{word: event.ClassFailed}
	}
	return class{word: event.ClassSucceeded}
}

// reason says how it ended, for people.
func (o outcome) reason() string {
	var signalled *SignalError
	switch {
	case errors.As(o.err, &signalled):
		return "signal " + signals.Name(signalled.Signal)
	case o.err != nil:
		return o.err.Error()
	}
	return "the job " + o.exit.String()
}

// level returns the level at which to log the outcome if we go on after it.
func (o outcome) level() slog.Level {
	if o.failed() {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}
