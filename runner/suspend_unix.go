//go:build unix

package runner

import (
	"os"
	"syscall"

	"github.com/leaderrun/leaderrun/runner/signals"
)

// suspended is called when the job's first process was stopped. On a terminal we
// follow, so that the shell takes over, and stop renewing: a job that is not
// continued in time is killed at the end of its lease like any other. Elsewhere
// a stopped job stays stopped, under its lease, as nobody would notice.
//
// A job that was only stopped because it wanted the terminal is given it if we
// have it; so do those begin that share a pipeline with us.
func (s *supervisor) suspended(sig os.Signal) {
	wants := sig == syscall.SIGTTIN || sig == syscall.SIGTTOU
	switch {
	case s.task.tty == nil || s.exited:
		return
	case wants && s.task.tty.Give():
		s.resume()
		return
	case s.stopping: // its grace must be seen to end
		return
	}
	s.log.Info("the job was stopped, and so are we", "signal", signals.Name(sig))
	had := s.task.tty.Take(true)
	s.continued = s.task.tty.Suspend(sig)
	if s.late() {
		return
	}
	switch {
	case wants && !s.continued:
		s.stop(syscall.SIGHUP, "it wants a terminal that it cannot have")
		return
	case sig == syscall.SIGSTOP && !s.continued: // whoever stopped it can continue it
		return
	case had || wants:
		s.task.tty.Give()
	}
	s.resume()
}

// late does what was due while we were stopped, before the job can go on. It
// reports whether that is the job's end.
func (s *supervisor) late() bool {
	s.due()
	if err := s.bound.lost(); err != nil {
		s.lose(err)
		s.kill("the lease is lost")
	}
	return s.stopping
}

// ofTerminal deals with a signal that is about our terminal rather than for the
// job, and reports whether it was that.
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
		s.task.tty.Continued()
	case syscall.SIGTTIN, syscall.SIGTTOU: // if we are in the background, then so is the job
		s.continued = s.task.tty.Yield()
		return s.continued
	}
	return false
}

func (s *supervisor) resume() { _ = s.job.Signal(syscall.SIGCONT) }
