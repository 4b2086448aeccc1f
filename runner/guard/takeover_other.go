//go:build unix && !linux

package guard

import (
	"errors"
	"syscall"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// groups are the first process's and that of what runs beside it, which is all
// that is known of the job here.
func (j *job) groups() (all []int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.pid != 0 {
		all = append(all, j.pid)
	}
	if j.aside != nil && j.aside.pid != 0 {
		all = append(all, j.aside.pid)
	}
	return all
}

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
