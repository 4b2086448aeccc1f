package run

import (
	"errors"
	"fmt"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/program/threads"
	"github.com/leaderrun/leaderrun/runner"
)

// exitLike returns the error with which we end as the job has ended. We die of the signal of
// which it has died if somebody sent it to us, or typed it.
func exitLike(job runner.Exit) error {
	if job.Received || job.Typed {
		return &output.Exit{Status: job.Status(), Signal: job.Signal, Group: job.Typed}
	}
	return output.ExitWith(job.Status())
}

// exit gives an error the exit status that -E sets: if the lock is held, or if the window
// of --once-per needs no run. The other statuses are in cmd/output/exit.go.
func (s *session) exit(err error) error {
	var held *locks.HeldError
	switch {
	case errors.As(err, new(*runner.SkippedError)) && s.opt.Conflict.Given:
		return &output.Exit{Status: s.opt.Conflict.N, Err: err, Quiet: true}
	case errors.As(err, new(*runner.SkippedError)):
		return &output.Exit{Err: err, Quiet: true}
	case errors.As(err, &held) && !s.opt.Nonblock: // the wait timed out
		return &output.Exit{Status: s.opt.Conflict.N, Err: output.Reword(err, "lock %q: timed out: still %v", s.opt.Lock, held)}
	case output.Status(err) == output.ExitHeld:
		return &output.Exit{Status: s.opt.Conflict.N, Err: err, Quiet: true}
	}
	return err
}

// raise is what to do about a limit of tasks.
const raise = "raise the limit (ulimit -u; TasksMax= of a unit; pids.max of a cgroup; sysctl kernel.pid_max)"

// explain words the error of a run in terms that the user knows, such as the lock's name.
func (s *session) explain(err error) error {
	switch {
	case errors.As(err, new(*locks.HeldError)):
	case errors.As(err, new(*runner.SkippedError)):
		return fmt.Errorf("lock %q: %w", s.opt.Lock, err)
	case errors.Is(err, locks.ErrLost):
		return output.Reword(err, "leadership of %q was lost and the job was stopped: %s", s.opt.Lock, output.WithoutClass(err))
	case errors.Is(err, threads.ErrOut):
		return output.Reword(err, "%v: nothing was started; %s", threads.ErrOut, raise)
	case errors.As(err, new(*runner.ResignError)):
		return output.Reword(err, "leadership of %q was given up: %v", s.opt.Lock, err)
	case errors.Is(err, runner.ErrRecord):
		return output.WithHint(output.Reword(err, "lock %q: %s", s.opt.Lock, output.WithoutClass(err)),
			"once nothing uses the lock, leaderrun forget "+s.opt.Lock+" deletes it with its record")
	case errors.As(err, new(*runner.TimeoutError)):
		return output.Reword(err, "the job was stopped: %v", err)
	}
	return output.Explain(s.opt.Lock, err)
}
