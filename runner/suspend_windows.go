package runner

import "os"

// suspended is never called: nothing stops a process here.
func (s *supervisor) suspended(os.Signal) {}

// ofTerminal reports false: a console has no foreground.
func (s *supervisor) ofTerminal(os.Signal) bool { return false }
