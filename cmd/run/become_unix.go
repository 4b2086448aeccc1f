//go:build unix

package run

import (
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/signals"
)

// become replaces this process by the command, in the job of the leaderrun with
// the given process id. It returns only if it fails.
func become(c proc.Command, around int) (int, error) {
	signals.Restore()
	exit, err := proc.Exec(c, around)
	return exit.Status(), err
}
