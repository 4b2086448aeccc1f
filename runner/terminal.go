package runner

import "os"

// A Terminal is the one that we were started on, which we share with the job as
// a shell shares it with us. Package terminal has it.
type Terminal interface {
	// Offer returns the terminal if the job is to have it from its start on.
	Offer() *os.File
	// Started says what the job's process group is.
	Started(group int)
	// Give gives it to the job, if it is ours to give, and reports whether the
	// job has it now.
	Give() bool
	// Take takes it back if the job was given it, and reports whether it was.
	// With restore, it is put into the modes that it was given with.
	Take(restore bool) bool
	// Yield answers a signal that stops those of our own group who want the
	// terminal. It takes the terminal back for them and reports true, or false
	// if it is somebody else's.
	Yield() bool
	// Continued is called when we were stopped and continued by others.
	Continued()
	// Suspend stops us, and all of our process group, as the signal does. It
	// returns when we are continued, or reports false: nobody could do that, and
	// so we were not stopped.
	Suspend(os.Signal) bool
	// Close ends its use.
	Close()
}

// takeBack takes the terminal back from a task that has ended. One that was killed has
// left its modes behind; those that another one leaves are meant, as those of stty(1). A
// key may have ended it that means us as well, while it had the terminal.
func (s *supervisor) takeBack() {
	if s.task.tty == nil || s.startErr != nil {
		return
	}
	var died os.Signal
	if s.exited {
		died = s.job.Exit().Signal
	}
	had := s.task.tty.Take(s.killed != 0 || died != nil)
	if had && s.killed == 0 && byKey(died) {
		s.sent = died
	}
}
