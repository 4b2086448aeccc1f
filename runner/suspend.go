package runner

import (
	"os"
	"syscall"

	"github.com/leaderrun/leaderrun/runner/signals"
)

// suspended is called when the job's first process was suspended. On a terminal we
// suspend ourselves as well, so that the shell takes over. Then nothing is renewed: a job
// that is not continued in time is killed at the end of its lease like any other. Without
// a terminal we go on renewing, because nobody would notice.
//
// Our process group is suspended with us. But if we were sent TSTP ourselves while the job did
// not have the terminal, so was our group, and each process of it suspends itself. Another
// signal for all of them could come after the SIGCONT, and suspend them a second time: in a
// pipeline of two leaderruns, the slower one would send it.
//
// If the job was only suspended because it wanted the terminal, and we have the terminal,
// the job gets it. A job that shares a pipeline with us starts that way.
//
// In an orphaned group, where nobody could continue us, we are not suspended. There, a job that
// Ctrl-Z suspended continues at once, and a job that waits for a terminal is sent HUP.
//
// When we are continued, we look at the deadlines first, and only then continue the job. If only
// the first process of a job is suspended, the rest runs on, and is killed at the deadline like
// any other job.
func (s *supervisor) suspended(sig os.Signal) {
	wants := sig == syscall.SIGTTIN || sig == syscall.SIGTTOU
	switch {
	case s.task.tty == nil || s.exited:
		return
	case wants && s.task.tty.Give():
		s.resume()
		return
	case s.stopping: // we must see the grace end
		return
	}
	s.log.Info("the job was suspended, and so is leaderrun", "signal", signals.Name(sig))
	had := s.task.tty.Take(true)
	alone := sig == syscall.SIGTSTP && s.passedTSTP && !had
	s.continued = s.task.tty.Suspend(sig, alone)
	s.passedTSTP = false
	if s.late() {
		return
	}
	switch {
	case wants && !s.continued:
		s.stop(syscall.SIGHUP, "it wants a terminal that it cannot have", s.r.Timing.KillAfter)
		return
	case sig == syscall.SIGSTOP && !s.continued: // the sender can continue it
		return
	case had || wants:
		s.task.tty.Give()
	}
	s.resume()
	if s.continued {
		s.dropStops()
	}
}

// dropStops drops the signals to stop that we have caught before we were continued, as the
// kernel drops those that wait at a SIGCONT. They would suspend the job again.
func (s *supervisor) dropStops() {
	for range len(s.task.signals) {
		switch sig := <-s.task.signals; sig {
		case syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU:
		default:
			s.pass(sig)
		}
	}
}

// late does what was due while we were suspended, before the job continues. It reports
// whether the job must end.
func (s *supervisor) late() bool {
	s.due()
	if err := s.lease.lost(); err != nil {
		s.lose(err)
		s.kill("the lease is lost")
	}
	return s.stopping
}

// ofTerminal handles a signal that concerns our terminal rather than the job, and reports
// whether sig was one.
func (s *supervisor) ofTerminal(sig os.Signal) bool {
	if s.task.tty == nil {
		return false
	}
	switch sig {
	case syscall.SIGCONT:
		if s.continued {
			s.continued = false
			return true
		}
		s.passedTSTP = false
		s.task.tty.Continued()
	case syscall.SIGTSTP:
		s.passedTSTP = true
	case syscall.SIGTTIN, syscall.SIGTTOU: // if we are in the background, so is the job
		s.continued = s.task.tty.Yield()
		return s.continued
	}
	return false
}

func (s *supervisor) resume() { _ = s.job.Signal(syscall.SIGCONT) }
