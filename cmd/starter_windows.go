package cmd

import "github.com/leaderrun/leaderrun/runner/proc"

// A starter starts the job.
type starter = *groupStarter

type groupStarter struct{ proc.Group }

// tiers: there is one way to keep a job together here, and nothing to choose.
func tiers() []string { return nil }

func contain(starter, *options) error { return nil }

func newStarter() starter { return new(groupStarter) }

func (*groupStarter) Close() {}

// beGuard: there are no guards here.
func beGuard([]string) (status int, ok bool) { return 0, false }
