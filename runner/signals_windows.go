package runner

import (
	"os"
	"syscall"
)

// ending reports whether a signal asks a process to end.
func ending(sig os.Signal) bool { return sig == os.Interrupt || sig == syscall.SIGTERM }

// hangup returns false: Windows has no such signal.
func hangup(os.Signal) bool { return false }

// Without a foreground group, the first two return false, and the last is never called.
func byKey(os.Signal) bool                      { return false }
func (s *supervisor) ofTerminal(os.Signal) bool { return false }
func (s *supervisor) suspended(os.Signal)       {}
