//go:build !linux

package guard

import (
	"errors"
	"syscall"

	"github.com/leaderrun/leaderrun/runner/proc"
)

func (j *job) killGroups() {
	for _, group := range j.groups() {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
}

func (j *job) allDead(proc.Tree) bool {
	for _, group := range j.groups() {
		if !errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) {
			return false
		}
	}
	return j.guardIsDead()
}
