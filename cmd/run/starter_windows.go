package run

import "github.com/leaderrun/leaderrun/runner/guard"

// A starter starts the job. It must be closed when nothing of that is left.
type starter = *guard.Client

func newStarter() starter { return guard.Begin() }

func (s *session) contain(starter) error { return nil }
