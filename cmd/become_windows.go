package cmd

import (
	"github.com/leaderrun/leaderrun/locks/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// become runs the command and returns its exit status: there is no exec here.
func become(c proc.Command, _ int) (int, error) {
	job, err := proc.Group{}.Start(c, clock.Never)
	if err != nil {
		return 0, err
	}
	<-job.Exited()
	return job.Exit().Status(), nil
}
