package runner

import "os"

// suspended is never called: nothing suspends a process here.
func (s *supervisor) suspended(os.Signal) {}

// ofTerminal returns false: a console has no foreground group.
func (s *supervisor) ofTerminal(os.Signal) bool { return false }
