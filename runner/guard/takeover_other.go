//go:build unix && !linux

package guard

import (
	"errors"
	"syscall"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// killGroup kills the first process's group, which is all that is known of the
// job here.
func (j *job) killGroup() { _ = syscall.Kill(-j.pid, syscall.SIGKILL) }

func (j *job) allDead(proc.Tree) bool {
	return j.guardIsDead() && errors.Is(syscall.Kill(-j.pid, 0), syscall.ESRCH)
}
