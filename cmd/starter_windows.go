package cmd

import "github.com/leaderrun/leaderrun/runner/guard"

// A starter starts the job. It must be closed when nothing of that is left.
type starter = *guard.Guard

func newStarter() starter { return guard.Begin() }

// tiers: there is one way to keep a job together here, and nothing to choose.
func tiers() []string { return nil }

func contain(starter, *options) error { return nil }

// beGuard lives the life of a guard, if this process was started to be one.
func beGuard(args []string) (status int, ok bool) {
	if !guard.IsRole(args) {
		return 0, false
	}
	return guard.Main(args), true
}
