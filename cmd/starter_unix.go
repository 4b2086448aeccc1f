//go:build unix

package cmd

import "github.com/leaderrun/leaderrun/runner/guard"

// A starter starts the job. It must be closed when nothing of that is left.
type starter = *guard.Guard

func newStarter() starter { return guard.Begin() }

// beGuard lives the life of a guard, if this process was started to be one.
func beGuard(args []string) (status int, ok bool) {
	if !guard.IsRole(args) {
		return 0, false
	}
	return guard.Main(args), true
}
