package runner

import (
	"os"
	"syscall"
)

// A Terminal is the terminal that we were started on. We share it with the job, as a
// shell shares it with us. Package terminal implements it.
type Terminal interface {
	// Offer returns the terminal if the job gets it at its start, or nil.
	Offer() *os.File
	// Started sets the job's process group.
	Started(group int)
	// Give gives the terminal to the job if we have it. It reports whether the job
	// has it now.
	Give() bool
	// Take takes the terminal back if the job was given it, and reports whether it
	// was. With restore, it also restores the modes from before.
	Take(restore bool) bool
	// Elsewhere reports whether others have the terminal, such as a shell that has suspended us.
	Elsewhere() bool
	// Yield is called at a signal that suspends processes of our own group that want
	// the terminal. It takes the terminal back for them and returns true. If there are
	// none, or the terminal is neither ours nor the job's, it returns false.
	Yield() bool
	// Continued is called when others have suspended and continued us.
	Continued()
	// Suspend suspends us, and unless alone our process group, as the signal does. It
	// returns true when we are continued; then what we have caught before that is in
	// Options.Signals. If nobody could continue us, we are not suspended, and it returns
	// false.
	Suspend(sig os.Signal, alone bool) bool
	// Close ends the use of the terminal.
	Close()
}

// takeBack takes the terminal back from a task that has ended. A task that was killed had
// no chance to restore the modes. Any other task may have changed them on purpose, as
// stty(1) does. If a key of the terminal ended the task, the signal was meant for us as
// well, and for our process group.
func (s *supervisor) takeBack() {
	if s.task.tty == nil || s.startErr != nil || s.task.tty.Elsewhere() {
		return
	}
	var died os.Signal
	if s.exited {
		died = s.job.Exit().Signal
	}
	had := s.task.tty.Take(s.killed != 0 || died != nil)
	if had && s.killed == 0 && byKey(died) {
		s.sent, s.typed = died, !s.received[died]
	}
}

// byKey reports whether a key of a terminal sends this signal to end a program.
func byKey(sig os.Signal) bool { return sig == syscall.SIGINT || sig == syscall.SIGQUIT }
