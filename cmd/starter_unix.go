//go:build unix

package cmd

import (
	"github.com/leaderrun/leaderrun/runner/guard"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// newStarter returns what starts the job, and a function that must be called
// when nothing of that is left.
func newStarter() (proc.Starter, func()) {
	g := guard.Begin()
	return g, g.Close
}

// beGuard lives the life of a guard, if this process was started to be one.
func beGuard(args []string) (status int, ok bool) {
	if !guard.IsRole(args) {
		return 0, false
	}
	return guard.Main(args), true
}
