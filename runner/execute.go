package runner

import (
	"errors"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A TimeoutError says that the job was ended because it ran for too long.
type TimeoutError struct{ Limit time.Duration }

func (e *TimeoutError) Error() string { return fmt.Sprintf("it ran for longer than %v", e.Limit) }

// execute runs the job, and again as often as Restart says, under one lease. It
// returns when nothing of it is left. Without an error the job ended by itself,
// or by a signal that we were sent.
func (r *run) execute() (proc.Exit, error) {
	pause, failures := r.Restart.backoff(), 0
	for {
		began := r.Clock.Now()
		exit, err := r.runJob()
		if r.sent != nil || err != nil && !failure(err) {
			return exit, err
		}
		failed := err != nil || exit.Status() != 0
		if r.Clock.Now().Sub(began) >= r.Restart.MaxDelay { // it was healthy for a while
			pause.Reset()
			failures = 0
		}
		if failed {
			failures++
		} else {
			failures = 0
		}
		switch {
		case !r.Restart.wants(failed):
			return exit, err
		case r.Restart.GiveUpAfter > 0 && failures >= r.Restart.GiveUpAfter:
			r.gaveUp = true
			r.Logger.Warn("the job keeps failing here, and the lock is given up", "failures", failures)
			return exit, err
		}
		if err := r.restarting(pause.Take(), exit, err); err != nil {
			return proc.Exit{}, err
		}
	}
}

// failure reports whether an error is one that another start may mend.
func failure(err error) bool {
	return errors.As(err, new(*TimeoutError)) || errors.As(err, new(*proc.StartError)) && proc.Passing(err)
}

// runJob starts the job and returns when nothing of it is left.
func (r *run) runJob() (proc.Exit, error) {
	command := r.Command
	command.Env, command.Will, command.Terminal = r.env, r.will(), r.offer()
	s, err := r.attend(command, func(s *supervisor) { s.longest = r.MaxRuntime })
	if err != nil {
		r.notStarted()
		return proc.Exit{}, err
	}
	s.health.cancel()
	if !s.unkillable { // nor is a check, perhaps
		s.health.stop()
	}
	s.takeBack()
	return s.result()
}

// jobStarted is called when the job's first process runs.
func (s *supervisor) jobStarted() {
	if s.run.began == 0 {
		s.run.began = s.Clock.Now()
	}
	tier, why := s.job.Containment()
	s.Logger.Info("started", "pid", s.job.PID(), "containment", tier)
	if why != "" {
		s.Logger.Debug("the job is contained less strongly than it could be", "err", why)
	}
	if s.tty != nil {
		s.tty.Started(s.job.PID())
	}
	s.health = s.watchHealth(s.job)
}

// attend starts a command, and returns when nothing of it is left. An error says why it
// was not started. The guard may have died while the lock was waited for; then there is
// another one.
func (r *run) attend(c proc.Command, prepare func(*supervisor)) (*supervisor, error) {
	s, err := r.attendOnce(c, prepare)
	if errors.Is(err, proc.ErrStillborn) {
		r.Logger.Warn("starting another guard", "err", err)
		s, err = r.attendOnce(c, prepare)
	}
	return s, err
}

func (r *run) attendOnce(c proc.Command, prepare func(*supervisor)) (*supervisor, error) {
	job, err := r.start(c)
	if err != nil {
		return nil, err
	}
	s := r.supervisor(job)
	prepare(s)
	s.supervise()
	return s, s.refused
}

// start begins to start a command. That there is no lease any more to start it under is
// told.
func (r *run) start(command proc.Command) (*started, error) {
	job, err := r.startInTime(command)
	if r.lease != nil && errors.Is(err, locks.ErrLost) {
		return nil, r.lostWhile(err)
	}
	return job, err
}

// startInTime starts a command under the lease, if there is still time to stop it
// again.
func (r *run) startInTime(command proc.Command) (*started, error) {
	if err := r.lostLease(); err != nil {
		return nil, err
	}
	if now := r.Clock.Now(); now >= r.termAt() {
		return nil, fmt.Errorf("%w: only %s of the lease were left before the start", locks.ErrLost, show(r.expiry().Sub(now)))
	}
	job, err := r.startBy(command, r.killAt())
	if errors.Is(err, proc.ErrUnguarded) {
		return nil, fmt.Errorf("%w: %w", locks.ErrLost, err)
	}
	if err != nil {
		return nil, err
	}
	r.job.Store(&job.Job)
	job.Extend(r.killAt()) // it may have been renewed meanwhile
	return job, nil
}

// A started command is a job with its starter, which must be closed. It may be that it
// is yet to start, or will not.
type started struct {
	proc.Job
	starter proc.Starter
}

func (r *run) startBy(command proc.Command, killBy clock.Instant) (*started, error) {
	starter, err := r.Starter()
	if err != nil {
		return nil, err
	}
	command.Will.Keep = r.keeps
	job, err := starter.Start(command, killBy)
	if err != nil {
		starter.Close()
		return nil, err
	}
	return &started{job, starter}, nil
}

// will says what becomes of what is ours when we die before our job.
func (r *run) will() proc.Will {
	w := proc.Will{Hold: locks.Carrier(r.lock), Litter: r.server.files()}
	w.Release, w.Words = locks.LastWords(r.lock)
	return w
}

// keeps reports of a child of ours whether it is no part of the job.
func (r *run) keeps(pid int) bool {
	return locks.Keeps(r.lock, pid) || r.Keep != nil && r.Keep(pid)
}
