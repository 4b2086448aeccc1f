package runner

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/health"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/signals"
)

var errNoRenewal = errors.New("no renewal was acknowledged in time")

// How long to wait before each look at whether a job that was killed is gone: first the
// shortest of these pauses, then twice as long each time, up to the longest. Processes
// that the job left behind may take months to end by themselves.
const (
	shortestLook  = time.Millisecond
	longestLook   = 20 * time.Millisecond
	leftoversLook = 250 * time.Millisecond
)

// patience is how long after SIGKILL a job counts as surviving it, and how long
// after the end of the lease we then give up on it. A process in
// uninterruptible sleep ignores even SIGKILL.
const patience = 10 * time.Second

// A supervisor watches a task from its start until nothing of it is left. All of its
// state belongs to the goroutine in supervise.
type supervisor struct {
	c         *Config
	task      *task
	log       *slog.Logger
	bound     bound
	job       proc.Job
	heartbeat *heartbeat.Heartbeat
	limit     clock.Instant // when it has run for as long as it may
	health    *health.Watch

	starting   <-chan error // nil: it is known how the start went
	early      []os.Signal  // signals to pass on once the task is known to run
	began      clock.Instant
	notStarted bool
	startErr   error // why it was not started, unless it was to end anyway

	lost       error         // why leadership counts as lost; nil: it does not count as lost
	why        error         // why it is ended although the lease is ours; nil: it is not ended
	sent       os.Signal     // the one that is to end it; nil: there was none
	stopping   bool          // it was signalled, by us or on somebody's behalf
	killBy     clock.Instant // the end of the grace, if stopping
	killed     clock.Instant // when it was killed; 0: it was not
	exited     bool          // the first process has ended
	look       time.Duration // pause until the next look for what is left
	survives   bool          // something survives SIGKILL
	unkillable bool          // and we have given up on it
	continued  bool          // the next SIGCONT is one that we have acted on
}

// newSupervisor returns what watches a task that was just started.
func newSupervisor(k *task, job proc.Job) *supervisor {
	return &supervisor{
		c: k.c, task: k, log: k.report.log, bound: k.bound, job: job, heartbeat: &heartbeat.Heartbeat{}, health: &health.Watch{}, starting: job.Started(),
		killBy: clock.Never, limit: clock.Never,
	}
}

// supervise returns when no process of the task is left, or none that could be
// killed.
func (s *supervisor) supervise() {
	exited, lost, quit := s.job.Exited(), s.bound.done(), s.task.quit
	defer func() { s.heartbeat.Stop() }()
	for !s.finished() {
		timer := clock.NewTimer(s.c.Clock, s.wake())
		requests, unhealthy := s.task.requests, s.health.Unhealthy
		if s.stopping { // a request is left to whatever waits next, such as the pause before a restart
			requests, unhealthy = nil, nil
		}
		select {
		case err := <-s.starting:
			s.begin(err)
		case sig := <-s.task.signals:
			s.pass(sig)
		case err := <-s.bound.failures():
			if s.c.StopOnFailure && s.lose(err) {
				s.stop(s.c.Signal, "a renewal failed")
			}
		case <-lost:
			lost = nil
			s.lose(s.bound.lost())
			s.kill("the lease is lost")
		case err := <-s.job.Failed():
			s.unguarded(err)
		case request := <-requests:
			s.end(s.task.resignFor(request))
		case err := <-unhealthy:
			s.end(s.task.report.resigned(err.Error()))
		case <-quit:
			quit = nil
			s.end(errNoWait)
		case sig := <-s.job.Suspended():
			s.heed()
			s.suspended(sig)
		case <-exited:
			exited = nil
			s.firstExited()
		case <-timer.C:
			s.due()
		case <-s.heartbeat.C:
			s.beat()
		}
		timer.Stop()
	}
	s.bound.attach(nil)
	s.health.Cancel()
	if !s.unkillable { // a health check may be, too
		s.health.Stop()
	}
	s.takeBack()
}

// begin is called when it is known how the start went.
func (s *supervisor) begin(err error) {
	s.starting = nil
	if err != nil {
		s.notStarted = true
		s.refuse(err)
		return
	}
	s.began = s.c.Clock.Now()
	if s.task.isJob {
		s.jobStarted()
	}
	s.task.report.emit(event.Event{Kind: event.Started, PID: s.job.PID()})
	s.heartbeat = heartbeat.New(s.task.heartbeat, s.c.Clock, s.task.stage)
	if s.task.longest > 0 {
		s.limit = s.began.Add(s.task.longest)
	}
	for _, sig := range s.early {
		s.pass(sig)
	}
}

// jobStarted is called when the job's first process runs.
func (s *supervisor) jobStarted() {
	tier, why := s.job.Containment()
	s.log.Info("started", "pid", s.job.PID(), "containment", tier)
	if why != "" {
		s.log.Debug("the job is contained less strongly than it could be", "err", why)
	}
	if s.task.tty != nil {
		s.task.tty.Started(s.job.PID())
	}
	if s.task.health != nil {
		s.health = s.task.health(s.job)
	}
}

// refuse notes why the task was not started. If it was to end by then, that is the reason.
func (s *supervisor) refuse(err error) {
	switch {
	case errors.Is(err, proc.ErrUnguarded):
		s.lose(err)
	case s.lost != nil, s.why != nil:
	case s.stopping && errors.Is(err, proc.ErrGuardDied):
		s.why = &SignalError{s.sent}
	default:
		s.startErr = err
	}
}

// heed looks whether it is known how the start went: that comes before all else.
func (s *supervisor) heed() {
	select {
	case err := <-s.starting:
		s.begin(err)
	default:
	}
}

// wake returns the next moment at which there is something to do unasked.
func (s *supervisor) wake() clock.Instant {
	next := clock.Never
	if s.killed == 0 {
		next = min(s.killBy, s.c.Timing.KillAt(s.bound.expiry()))
		if !s.stopping {
			next = min(next, s.c.Timing.SignalAt(s.bound.expiry()), s.limit)
		}
	}
	if s.exited || s.killed != 0 {
		s.look = min(max(2*s.look, shortestLook), longestLook)
		if !s.stopping {
			s.look = leftoversLook
		}
		next = min(next, s.c.Clock.Now().Add(s.look))
	}
	return next
}

// due does what a deadline that has passed demands. The deadlines are those of
// now: a renewal may have moved them since the timer was set.
func (s *supervisor) due() {
	now, e := s.c.Clock.Now(), s.bound.expiry()
	if now >= s.c.Timing.KillAt(e) {
		s.lose(errNoRenewal)
		s.kill("the lease is about to end")
	} else if !s.stopping && now >= s.c.Timing.SignalAt(e) {
		s.lose(errNoRenewal)
		s.stop(s.c.Signal, "the lease is about to end")
	}
	if !s.stopping && now >= s.limit {
		s.end(&TimeoutError{s.task.longest})
	}
	if now >= s.killBy {
		s.kill("the grace is over")
	}
}

// end ends the task although the lease is ours, for the given reason if there is one.
func (s *supervisor) end(why error) {
	if why == nil || s.stopping {
		return
	}
	s.why = why
	s.stop(s.c.Signal, why.Error())
}

// lose notes that leadership cannot be kept, and reports whether that is news.
func (s *supervisor) lose(err error) bool {
	if s.lost != nil {
		return false
	}
	if !errors.Is(err, locks.ErrLost) {
		err = fmt.Errorf("%w: %w", locks.ErrLost, err)
	}
	s.lost = err
	s.task.report.emit(event.Event{Kind: event.Lost, Class: ClassOf(err), Reason: err.Error()})
	return true
}

// pass passes on a signal that we were sent. The first one that asks for an end
// starts the grace.
func (s *supervisor) pass(sig os.Signal) {
	if s.starting != nil && !ends(sig, s.task.detached) {
		s.early = append(s.early, sig)
		return
	}
	if s.ofTerminal(sig) {
		return
	}
	if ends(sig, s.task.detached) {
		s.sent = sig
		s.stop(sig, "we were sent it")
		return
	}
	if err := s.job.Signal(sig); err != nil {
		s.log.Warn("a signal could not be passed on", "signal", signals.Name(sig), "err", err)
	}
}

// stop signals the task, and sees to it that it is killed after its grace.
func (s *supervisor) stop(sig os.Signal, reason string) {
	s.log.Info("signalling the job", "signal", signals.Name(sig), "reason", reason)
	if err := s.job.Stop(sig); err != nil {
		s.log.Warn("the job could not be signalled", "signal", signals.Name(sig), "err", err)
	}
	s.task.report.emit(event.Event{Kind: event.Signalled, Signal: signals.Name(sig), Class: s.cause(), Reason: reason})
	if !s.stopping {
		s.stopping = true
		s.killBy = s.c.Clock.Now().Add(s.c.Timing.Grace)
	}
}

// kill kills the task at once. It may be called again, for processes that were just being
// started when the first kill went out.
func (s *supervisor) kill(reason string) {
	first := s.killed == 0
	if first {
		s.killed, s.stopping = s.c.Clock.Now(), true
		s.log.Info("killing the job", "reason", reason)
		s.task.report.emit(event.Event{Kind: event.Killed, Class: s.cause(), Reason: reason})
	}
	if err := s.job.Kill(); err != nil && first {
		s.log.Error("the job could not be killed", "err", err)
	}
}

// cause returns the class of the reason for which the task is being ended.
func (s *supervisor) cause() string {
	switch {
	case s.lost != nil:
		return ClassOf(s.lost)
	case s.why != nil:
		return ClassOf(s.why)
	case s.sent != nil:
		return event.ClassSignal
	case s.exited:
		return event.ClassLeftovers
	}
	return event.ClassError
}

// unguarded is called when nobody but us can kill the task any more, and it is
// being killed for that.
func (s *supervisor) unguarded(err error) {
	s.heed()
	if s.killed != 0 {
		s.log.Info("leaderrun kills the job itself", "err", err)
		return
	}
	s.lose(err)
	s.kill(err.Error())
}

// firstExited is called when the first process has ended. What it left behind is
// stopped like the task itself.
func (s *supervisor) firstExited() {
	s.heed()
	select {
	case err := <-s.job.Failed(): // and that is why it has ended
		s.unguarded(err)
	default:
	}
	s.due() // whoever else can kill the job may have been faster at its deadline
	s.exited = true
	s.health.Cancel()
	if s.starting != nil { // as far as we know it has never run
		return
	}
	exit := s.job.Exit()
	code := exit.Status()
	s.log.Info("exited", "code", code)
	if exit.Spent && s.killed == 0 {
		s.log.Warn("the job was killed, most likely as its CPU time is used up (ulimit -t)")
	}
	s.task.report.emit(event.Event{Kind: event.Exited, PID: s.job.PID(), Code: &code})
	if !s.job.Gone() && !s.stopping && !s.c.WaitChildren {
		s.stop(s.c.Signal, "the first process has ended")
	}
}

// finished reports whether there is nothing left to supervise. A task that
// survives SIGKILL is waited for as long as the lock may be ours.
func (s *supervisor) finished() bool {
	if s.notStarted || s.exited && s.job.Gone() {
		return true
	}
	if s.killed == 0 {
		return false
	}
	s.kill("it is still there")
	now := s.c.Clock.Now()
	if !s.survives && now > s.killed.Add(patience) {
		s.survives = true
		s.log.Error("processes of the job survive SIGKILL; the lock is not released", "pid", s.job.PID())
	}
	s.unkillable = s.survives && !s.bound.keepsWaiting(now)
	return s.unkillable
}

// beat says that we lead, or are about to end that, if the lease is ours for certain.
func (s *supervisor) beat() {
	if s.bound.lost() != nil {
		s.heartbeat.Stop()
		return
	}
	if s.stopping && !s.c.lasts() {
		s.heartbeat.Stage = heartbeat.Stopping
	}
	s.heartbeat.Beat()
}

// outcome says how the task ended, once nothing of it is left. One that ended by itself
// ended under the lock only if the lease was still ours then.
func (s *supervisor) outcome() outcome {
	o := outcome{sent: s.sent, began: s.began, unkillable: s.unkillable}
	if err := s.bound.lost(); err != nil && s.startErr == nil {
		s.lose(err)
	}
	switch {
	case s.startErr != nil:
		o.err = s.startErr
	case s.lost != nil:
		o.err = s.lost
	case s.notStarted:
		o.err = s.why
	default:
		o.exit, o.err = s.job.Exit(), s.why
	}
	return o
}
