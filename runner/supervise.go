package runner

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/health"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/signals"
)

// brief is how long a job may take to stop before others are told. Most jobs end at once.
const brief = time.Second

// sickGrace bounds the grace of a job whose health checks fail: it does not serve, and another
// host could.
const sickGrace = 8 * time.Second

var errNoRenewal = errors.New("no renewal was acknowledged in time")

// killPause is the pause between kills of a job that is not gone. The guard itself repeats a kill
// much more often; this is for a guard that froze after it had acknowledged one. On a host that is
// short of processor time, whatever we do meanwhile delays the guard and those that die.
const killPause = 100 * time.Millisecond

// patience is the time after SIGKILL from which a job counts as surviving it, and the time
// after the end of the lease at which we give up on such a job. A process in
// uninterruptible sleep ignores even SIGKILL.
const patience = 10 * time.Second

// A supervisor watches a task from its start until nothing of it is left. Its state belongs
// to the goroutine in supervise.
type supervisor struct {
	r         *run
	task      *task
	log       *slog.Logger
	lease     *lease
	job       proc.Job
	heartbeat *heartbeat.Heartbeat
	limit     clock.Instant // when the task has run for too long
	health    *health.Watch

	starting     <-chan error  // nil: we know whether the task was started
	beforeStart  []os.Signal   // signals to pass on after the start
	queuedEvents []event.Event // what was done to the task, to be reported after its start
	began        clock.Instant
	notStarted   bool
	startErr     error // why it was not started, unless it had to end anyway

	lost       error              // why leadership is lost, or nil
	why        error              // why the task must end although the lease is ours, or nil
	sent       os.Signal          // the signal that we received to end, or nil
	received   map[os.Signal]bool // all that we received
	typed      bool               // a key of the terminal has ended the job
	stopping   bool               // the task was signalled to end
	stopped    clock.Instant      // when it was signalled first
	killBy     clock.Instant      // the end of the grace, if stopping
	tellAt     clock.Instant      // when to tell others that the task is stopping
	killed     clock.Instant      // when the task was killed; 0: it was not
	killAgain  clock.Instant      // when to do that again
	exited     bool               // the first process has ended
	survives   bool               // processes survive SIGKILL
	unkillable bool               // and we have given up on it
	continued  bool               // the next SIGCONT was handled already
	passedTSTP bool               // we have received SIGTSTP, and passed it on
}

// newSupervisor returns the supervisor of a task whose start was just ordered.
func newSupervisor(k *task, job proc.Job) *supervisor {
	return &supervisor{
		r: k.r, task: k, log: k.report.log, lease: k.lease, job: job, heartbeat: &heartbeat.Heartbeat{}, health: &health.Watch{}, starting: job.Started(),
		killBy: clock.Never, killAgain: clock.Never, tellAt: clock.Never, limit: clock.Never, received: map[os.Signal]bool{},
	}
}

// supervise returns when no process of the task is left, except those that cannot be
// killed.
func (s *supervisor) supervise() {
	exited, gone, lost, quit := s.job.Exited(), s.job.Gone(), s.lease.done, s.task.quit
	defer func() { s.heartbeat.Stop() }()
	for !s.finished() {
		timer := clock.NewTimer(s.r.Clock, s.wake())
		requests, unhealthy := s.task.requests, s.health.Unhealthy
		if s.stopping { // the request is for the next phase, such as the pause before a restart
			requests, unhealthy = nil, nil
		}
		select {
		case err := <-s.starting:
			s.begin(err)
		case sig := <-s.task.signals:
			s.pass(sig)
		case <-lost:
			lost = nil
			s.lose(s.lease.lost())
			s.kill("the lease is lost")
		case err := <-s.job.Failed():
			s.unguarded(err)
		case request := <-requests:
			s.end(s.task.resignFor(request), s.r.Timing.KillAfter)
		case err := <-unhealthy:
			s.end(s.task.report.resigned(event.ClassUnhealthy, err.Error()), min(s.r.Timing.KillAfter, sickGrace))
		case <-quit:
			quit = nil
			s.end(errNoWait, s.r.Timing.Grace)
		case sig := <-s.job.Suspended():
			s.beginIfStarted()
			s.suspended(sig)
		case <-exited:
			exited = nil
			s.firstExited()
		case <-gone:
			gone = nil // finished sees it
		case <-timer.C:
			s.due()
		case <-s.heartbeat.C:
			s.beat()
		}
		timer.Stop()
	}
	s.starting = nil // nobody will know
	s.overdue()
	s.done()
	s.lease.attach(nil)
	s.health.Cancel()
	if !s.unkillable { // else a health check may be unkillable as well
		s.health.Stop()
	}
	s.takeBack()
}

// begin is called when we know whether the task was started.
func (s *supervisor) begin(err error) {
	s.starting = nil
	defer s.done()
	if err != nil {
		s.refuse(err)
		return
	}
	s.began = s.r.Clock.Now()
	if s.task.isJob {
		s.jobStarted()
	}
	s.task.report.emit(event.Event{Kind: event.Started, PID: s.job.PID()})
	s.heartbeat = heartbeat.New(s.task.heartbeat, s.r.Clock, s.task.stage)
	if s.task.longest > 0 {
		s.limit = s.began.Add(s.task.longest)
	}
	for _, sig := range s.beforeStart {
		s.pass(sig)
	}
}

// done reports what was done to the task. The job may run, and be signalled, before we learn
// that it was started; that is reported first.
func (s *supervisor) done(what ...event.Event) {
	if s.queuedEvents = append(s.queuedEvents, what...); s.starting != nil {
		return
	}
	for _, e := range s.queuedEvents {
		s.task.report.emit(e)
	}
	s.queuedEvents = nil
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

// refuse notes why the task was not started. If it had to end anyway, that is the reason.
func (s *supervisor) refuse(err error) {
	s.notStarted = true
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

// beginIfStarted handles the result of the start, if it is known, before anything else.
func (s *supervisor) beginIfStarted() {
	select {
	case err := <-s.starting:
		s.begin(err)
	default:
	}
}

// wake returns the next moment at which something is due.
func (s *supervisor) wake() clock.Instant {
	switch {
	case s.killed != 0:
		return s.killAgain
	case s.stopping:
		return min(s.killBy, s.tellAt, s.lease.killAt())
	}
	return min(s.killBy, s.tellAt, s.lease.killAt(), s.lease.signalAt(), s.limit)
}

// due signals or kills the task if a deadline has passed. It reads the deadlines again,
// because a renewal may have moved them since the timer was set.
func (s *supervisor) due() {
	now := s.r.Clock.Now()
	if at := s.lease.killAt(); now >= at {
		if late := now.Sub(at); late > s.lease.timing.Margin && s.killed == 0 {
			s.log.Info("woke up late to kill the job", "late", late.Round(time.Millisecond), "pid", os.Getpid())
		}
		s.lose(errNoRenewal)
		s.kill("the lease is about to end")
	} else if !s.stopping && now >= s.lease.signalAt() {
		s.lose(errNoRenewal)
		s.stop(s.r.Signal, "the lease is about to end", s.lease.timing.Grace)
	}
	if !s.stopping && now >= s.limit {
		s.end(&TimeoutError{s.task.longest}, s.r.Timing.KillAfter)
	}
	if now >= s.tellAt && s.killed == 0 {
		s.tellAt = clock.Never
		s.task.draining(s.stopped, s.killBy)
	}
	if now >= s.killBy && s.killed == 0 {
		if s.lost == nil {
			s.log.Warn("killing the job: it has not ended in time after the signal", "grace", s.killBy.Sub(s.stopped).Round(time.Millisecond))
		}
		s.kill("the grace is over")
	}
	if now >= s.killAgain {
		s.kill("it is still there")
	}
}

// end ends the task although the lease is ours. If why is nil, it does nothing.
func (s *supervisor) end(why error, grace time.Duration) {
	if why == nil || s.stopping {
		return
	}
	s.why = why
	s.stop(s.r.Signal, why.Error(), grace)
}

// lose notes why leadership is lost, unless that is known.
func (s *supervisor) lose(err error) {
	if s.lost != nil {
		return
	}
	if !errors.Is(err, locks.ErrLost) {
		err = fmt.Errorf("%w: %w", locks.ErrLost, err)
	}
	s.lost = err
	s.task.report.emit(event.Event{Kind: event.Lost, Class: ClassOf(err), Reason: err.Error()})
}

// pass handles a signal that we received. The first one that ends us starts the grace;
// others are passed on.
func (s *supervisor) pass(sig os.Signal) {
	s.received[sig] = true
	if s.starting != nil && !ends(sig, s.task.detached) {
		s.beforeStart = append(s.beforeStart, sig)
		return
	}
	if s.ofTerminal(sig) {
		return
	}
	if ends(sig, s.task.detached) {
		s.sent = sig
		s.stop(sig, "leaderrun received it", s.r.Timing.KillAfter)
		return
	}
	if err := s.job.Signal(sig); err != nil {
		s.log.Warn("a signal could not be passed on", "signal", signals.Name(sig), "err", err)
	}
}

// stop signals all of the task, which is killed when the grace is over. A later stop does not
// prolong the grace, and a shorter grace counts.
func (s *supervisor) stop(sig os.Signal, reason string, grace time.Duration) {
	if !s.stopping {
		s.stopping, s.stopped = true, s.r.Clock.Now()
		if s.lost == nil && s.task.draining != nil {
			s.tellAt = s.stopped.Add(brief)
		}
	}
	if sig == syscall.Signal(0) { // --signal 0
		s.kill(reason)
		return
	}
	s.log.Info("signalling the job", "signal", signals.Name(sig), "reason", reason)
	if err := s.job.Stop(sig); err != nil {
		s.log.Warn("the job could not be signalled", "signal", signals.Name(sig), "err", err)
	}
	s.done(event.Event{Kind: event.Signalled, Signal: signals.Name(sig), Class: s.cause(), Reason: reason})
	s.killBy = min(s.killBy, s.r.Clock.Now().Add(grace))
	s.job.Limit(s.killBy)
}

// kill kills the task at once. It may be called again, for processes that were just being
// started at the first kill.
func (s *supervisor) kill(reason string) {
	first := s.killed == 0
	if first {
		s.killed, s.stopping = s.r.Clock.Now(), true
		s.log.Info("killing the job", "reason", reason)
		s.done(event.Event{Kind: event.Killed, Class: s.cause(), Reason: reason})
	}
	s.killAgain = s.r.Clock.Now().Add(killPause)
	if err := s.job.Kill(); err != nil && first {
		s.log.Error("the job could not be killed", "err", err)
	}
}

// cause returns the class of the reason for which the task must end.
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

// unguarded is called when only we can still kill the task. It is being killed for that.
func (s *supervisor) unguarded(err error) {
	s.beginIfStarted()
	if s.killed != 0 {
		s.log.Info("leaderrun kills the job itself", "err", err)
		return
	}
	s.lose(err)
	s.kill(err.Error())
}

// firstExited is called when the first process has ended. Processes that it left behind are
// stopped like the task itself.
func (s *supervisor) firstExited() {
	s.beginIfStarted()
	select {
	case err := <-s.job.Failed(): // that is why the process has ended
		s.unguarded(err)
	default:
	}
	s.due() // at a deadline, the guard may have been faster than we
	s.overdue()
	s.exited = true
	s.health.Cancel()
	if s.starting != nil { // as far as we know, the task has never run
		return
	}
	exit := s.job.Exit()
	code := exit.Status()
	s.log.Info("exited", "code", code)
	if exit.Spent && s.killed == 0 {
		s.log.Warn("the job was killed, probably because its CPU time is used up (ulimit -t)")
	}
	s.task.report.emit(event.Event{Kind: event.Exited, PID: s.job.PID(), Code: &code})
	if !proc.IsClosed(s.job.Gone()) && !s.stopping && !s.r.WaitChildren {
		s.stop(s.r.Signal, "the first process has ended", s.r.Timing.KillAfter)
	}
}

// overdue is called when the guard says that something has ended. The guard kills at the latest
// deadline that it knows. If we were frozen then, we may have learned of a renewal since.
func (s *supervisor) overdue() {
	if s.job.Overdue() && !s.stopping {
		s.lose(errNoRenewal)
		s.kill("the guard has killed it: the lease was about to end")
	}
}

// finished reports whether nothing is left to supervise. It waits for a task that survives
// SIGKILL for as long as lease.keepsWaiting says.
func (s *supervisor) finished() bool {
	if s.notStarted || s.exited && proc.IsClosed(s.job.Gone()) {
		return true
	}
	if s.killed == 0 {
		return false
	}
	now := s.r.Clock.Now()
	if !s.survives && now > s.killed.Add(patience) {
		s.survives = true
		s.log.Error("processes of the job survive SIGKILL; the lock is not released", "pid", s.job.PID())
	}
	s.unkillable = s.survives && !s.lease.keepsWaiting(now)
	return s.unkillable
}

// beat reports that we lead, or are about to stop, if the lease is ours for certain. It is called
// by the loop that would kill the job: another goroutine would go on when that loop is stuck.
func (s *supervisor) beat() {
	if s.lease.lost() != nil {
		s.heartbeat.Stop()
		return
	}
	if s.stopping && !s.r.lasts() {
		s.heartbeat.Stage = heartbeat.Stopping
	}
	s.heartbeat.Beat()
}

// outcome returns how the task ended. It is called when nothing of the task is left. A task
// that ended by itself ended under the lock only if the lease was still ours.
func (s *supervisor) outcome() outcome {
	o := outcome{sent: s.sent, began: s.began, unkillable: s.unkillable}
	if s.exited && s.startErr == nil && !s.notStarted {
		o.status = strconv.Itoa(s.job.Exit().Status())
	}
	if err := s.lease.lost(); err != nil && s.startErr == nil {
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
		exit := s.job.Exit()
		o.exit, o.err = Exit{exit, s.received[exit.Signal], s.typed}, s.why
	}
	return o
}
