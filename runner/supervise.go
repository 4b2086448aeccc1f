package runner

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/signals"
)

var errNoRenewal = errors.New("no renewal was acknowledged in time")

// Whether a job that was killed is gone is looked at after the first of these
// pauses, then ever less often.
const (
	firstLook = time.Millisecond
	lastLook  = 20 * time.Millisecond
	unhurried = 250 * time.Millisecond // while what the job left behind is let end by itself
)

// patience is how long after SIGKILL a job counts as surviving it, and how long
// after the end of the lease we then give up on it. A process in
// uninterruptible sleep ignores even SIGKILL.
const patience = 10 * time.Second

// A supervisor watches one job under one lease, from its start until nothing
// of it is left. All of its state belongs to the goroutine in supervise.
type supervisor struct {
	*run
	Logger  *slog.Logger // shadows that of the run: a hook says which it is
	job     *started
	hook    string // what it is for; "": it is the job
	pulse   *pulse
	longest time.Duration // how long it may run; 0: for ever
	limit   clock.Instant // when that is over
	health  *checkup      // nil: nobody looks after it

	starting <-chan error // nil: it is known how the start went
	early    []os.Signal  // what we were sent for what is not known to run yet
	over     bool         // it was not started
	refused  error        // why, unless it was to end anyway

	lost      error         // why leadership counts as lost; nil: it does not
	ousted    error         // why it is ended although the lease is ours; nil: it is not
	stopping  bool          // the job was signalled, by us or on somebody's behalf
	killBy    clock.Instant // the end of the grace, if stopping
	killed    clock.Instant // when it was killed; 0: it was not
	exited    bool          // the first process has ended
	look      time.Duration // pause until the next look for what is left
	survives  bool          // something survives SIGKILL
	continued bool          // the next SIGCONT is one that we have acted on
}

// supervise returns when no process of the job is left, or none that could be
// killed.
func (s *supervisor) supervise() {
	exited, lost, quit := s.job.Exited(), s.done(), s.quit
	defer func() { s.pulse.stop() }()
	for !s.finished() {
		timer := clock.NewTimer(s.Clock, s.wake())
		asked, unhealthy := s.asked, s.health.unhealthy()
		if s.stopping { // a request waits for who looks next, such as the pause before a restart
			asked, unhealthy = nil, nil
		}
		select {
		case err := <-s.starting:
			s.begin(err)
		case sig := <-s.Signals:
			s.pass(sig)
		case err := <-s.failures:
			if s.StopOnFailure && s.lose(err) {
				s.stop(s.Signal, "a renewal failed")
			}
		case <-lost:
			lost = nil
			s.lose(s.lease.Err())
			s.kill("the lease is lost")
		case err := <-s.job.Failed():
			s.unguarded(err)
		case text := <-asked:
			s.oust(s.petition(text))
		case err := <-unhealthy:
			s.oust(s.resigned(err.Error()))
		case <-quit:
			quit = nil
			s.oust(errNoWait)
		case sig := <-s.job.Stopped():
			s.heed()
			s.stopped(sig)
		case <-exited:
			exited = nil
			s.ended()
		case <-timer.C:
			s.due()
		case <-s.pulse.C:
			s.beat()
		}
		timer.Stop()
	}
	s.run.job.Store(nil)
	if !s.unkillable {
		s.closing.Go(s.job.starter.Close) // it takes a moment, and somebody may wait for the lock
	}
}

// supervisor makes what watches a command that was just started.
func (r *run) supervisor(job *started) *supervisor {
	return &supervisor{
		run: r, Logger: r.Logger, job: job, pulse: &pulse{}, starting: job.Started(),
		killBy: clock.Never, limit: clock.Never,
	}
}

// begin is called when it is known how the start went.
func (s *supervisor) begin(err error) {
	s.starting = nil
	if err != nil {
		s.over = true
		s.refuse(err)
		return
	}
	if s.hook == "" {
		s.jobStarted()
	}
	s.tell(Event{Kind: EventStarted, PID: s.job.PID()})
	s.pulse = s.run.pulse(s.stage())
	if s.longest > 0 {
		s.limit = s.Clock.Now().Add(s.longest)
	}
	for _, sig := range s.early {
		s.pass(sig)
	}
}

// refuse notes why there is no job. If it was to end by then, that is why.
func (s *supervisor) refuse(err error) {
	switch {
	case errors.Is(err, proc.ErrUnguarded):
		s.lose(err)
	case s.lost != nil, s.ousted != nil:
	case s.stopping && errors.Is(err, proc.ErrStillborn):
		s.ousted = &SignalError{s.sent}
	default:
		s.refused = err
	}
}

// heed hears how the start went, if it is known: that comes before all else.
func (s *supervisor) heed() {
	select {
	case err := <-s.starting:
		s.begin(err)
	default:
	}
}

// tell emits an event about what it watches.
func (s *supervisor) tell(e Event) {
	e.Hook = s.hook
	s.emit(e)
}

// done is closed when the lease has ended.
func (r *run) done() <-chan struct{} {
	if r.lease == nil {
		return nil
	}
	return r.lease.Done()
}

// wake is the next moment at which there is something to do unasked.
func (s *supervisor) wake() clock.Instant {
	next := clock.Never
	if s.killed == 0 {
		next = min(s.killBy, s.killAt())
		if !s.stopping {
			next = min(next, s.termAt(), s.limit)
		}
	}
	if s.exited || s.killed != 0 {
		s.look = min(max(2*s.look, firstLook), lastLook)
		if !s.stopping { // it may take months
			s.look = unhurried
		}
		next = min(next, s.Clock.Now().Add(s.look))
	}
	return next
}

// due does what a deadline that has passed demands. The deadlines are those of
// now: a renewal may have moved them since the timer was set.
func (s *supervisor) due() {
	now := s.Clock.Now()
	if now >= s.killAt() {
		s.lose(errNoRenewal)
		s.kill("the lease is about to end")
	} else if !s.stopping && now >= s.termAt() {
		s.lose(errNoRenewal)
		s.stop(s.Signal, "the lease is about to end")
	}
	if !s.stopping && now >= s.limit {
		s.oust(&TimeoutError{s.longest})
	}
	if now >= s.killBy {
		s.kill("the grace is over")
	}
}

// oust ends the job although the lease is ours, for the given reason if there is
// one.
func (s *supervisor) oust(why error) {
	if why == nil || s.stopping {
		return
	}
	s.ousted = why
	s.stop(s.Signal, why.Error())
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
	s.tell(Event{Kind: EventLost, Class: ClassOf(err), Reason: err.Error()})
	return true
}

// pass hands on a signal that we were sent. The first that asks for an end
// starts the grace.
func (s *supervisor) pass(sig os.Signal) {
	if s.starting != nil && !s.ends(sig) {
		s.early = append(s.early, sig)
		return
	}
	if s.ofTerminal(sig) {
		return
	}
	if s.ends(sig) {
		s.sent = sig
		s.stop(sig, "we were sent it")
		return
	}
	if err := s.job.Signal(sig); err != nil {
		s.Logger.Warn("a signal could not be passed on", "signal", signals.Name(sig), "err", err)
	}
}

// ends reports whether a signal that we were sent is to end the job. HUP is if a terminal
// hangs up; without one it is what daemons reload on.
func (r *run) ends(sig os.Signal) bool { return ending(sig) && !(r.detached && hangup(sig)) }

// stop signals the job, and sees to it that it is killed after its grace.
func (s *supervisor) stop(sig os.Signal, reason string) {
	s.Logger.Info("signalling the job", "signal", signals.Name(sig), "reason", reason)
	if err := s.job.Stop(sig); err != nil {
		s.Logger.Warn("the job could not be signalled", "signal", signals.Name(sig), "err", err)
	}
	s.tell(Event{Kind: EventSignalled, Signal: signals.Name(sig), Class: s.cause(), Reason: reason})
	if !s.stopping {
		s.stopping = true
		s.killBy = s.Clock.Now().Add(s.Timing.Grace)
	}
}

// kill kills the job at once. It may be called again: what was just being
// started when the first kill went out is met by a later one.
func (s *supervisor) kill(reason string) {
	first := s.killed == 0
	if first {
		s.killed, s.stopping = s.Clock.Now(), true
		s.Logger.Info("killing the job", "reason", reason)
		s.tell(Event{Kind: EventKilled, Class: s.cause(), Reason: reason})
	}
	if err := s.job.Kill(); err != nil && first {
		s.Logger.Error("the job could not be killed", "err", err)
	}
}

// unguarded is called when nobody but us can kill the job any more, and it is
// being killed for that.
func (s *supervisor) unguarded(err error) {
	s.heed()
	if s.killed != 0 {
		s.Logger.Info("leaderrun kills the job itself", "err", err)
		return
	}
	s.lose(err)
	s.kill(err.Error())
}

// ended is called when the first process has ended. What it left behind is
// stopped like the job itself.
func (s *supervisor) ended() {
	s.heed()
	select {
	case err := <-s.job.Failed(): // and that is why it has ended
		s.unguarded(err)
	default:
	}
	s.due() // whoever else can kill the job may have been faster at its deadline
	s.exited = true
	s.health.cancel()
	if s.starting != nil { // as far as we know it has never run
		return
	}
	exit := s.job.Exit()
	code := exit.Status()
	s.Logger.Info("exited", "code", code)
	if exit.Spent && s.killed == 0 {
		s.Logger.Warn("the job was killed, most likely as its CPU time is used up (ulimit -t)")
	}
	s.tell(Event{Kind: EventExited, PID: s.job.PID(), Code: &code})
	if !s.job.Gone() && !s.stopping && !s.WaitChildren {
		s.stop(s.Signal, "the first process has ended")
	}
}

// finished reports whether there is nothing left to supervise. A job that
// survives SIGKILL is waited for as long as the lock may be ours.
func (s *supervisor) finished() bool {
	if s.over || s.exited && s.job.Gone() {
		return true
	}
	if s.killed == 0 {
		return false
	}
	s.kill("it is still there")
	now := s.Clock.Now()
	if !s.survives && now > s.killed.Add(patience) {
		s.survives = true
		s.Logger.Error("processes of the job survive SIGKILL; the lock is not released", "pid", s.job.PID())
	}
	e := s.expiry()
	s.unkillable = s.survives && (s.lease == nil || e != clock.Never && now > e.Add(patience))
	return s.unkillable
}

// result says how the run ended, once nothing of the job is left. A job that
// ended by itself ended under the lock only if the lease was still ours then.
func (s *supervisor) result() (proc.Exit, error) {
	if err := s.lostLease(); err != nil {
		s.lose(err)
	}
	if s.lost != nil {
		return proc.Exit{}, s.lost
	}
	if s.over {
		return proc.Exit{}, s.ousted
	}
	return s.job.Exit(), s.ousted
}
