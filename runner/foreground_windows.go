package runner

import "os"

// stopped is never called: nothing stops a process here.
func (s *supervisor) stopped(os.Signal) {}

// ofTerminal reports false: a console has no foreground.
func (s *supervisor) ofTerminal(os.Signal) bool { return false }
