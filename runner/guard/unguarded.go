package guard

import (
	"syscall"
	"time"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// noGroup is not the id of a group.
const noGroup = -1

// killUnguarded kills the guard and the job. It returns when nothing of them is left. When
// the guard is dead, its children are ours.
func (j *job) killUnguarded() {
	j.client.child.kill()
	for clean, looks := 0, 0; clean < 2; looks++ { // one look can miss a process that is just being started
		if j.client.sweep(j) {
			clean++
		} else {
			clean = 0
		}
		pause := shortPause
		if looks > shortPauses {
			pause = longPause
		}
		time.Sleep(pause)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.proveGone()
	dead := proc.Exit{Signal: syscall.SIGKILL}
	j.end(dead)
	j.endCheck(dead, errDied)
}

// sweep is Client.sweep, except in tests.
func (j *job) sweep() (clean bool) {
	j.client.spare.Spend()
	path := j.cgroup()
	empty := path == "" || killCgroup(path) // first, as it kills all at once
	tree := proc.Tree{Exclude: j.isNotOfJob}
	if j.client.containment == Pgroup { // a process that has left the groups has left the job
		tree.Groups = j.groups()
	}
	j.killGroups()
	alive, _ := tree.Signal(noGroup, false, syscall.SIGKILL)
	return j.allDead(tree) && alive == 0 && empty
}

func (j *job) cgroup() (path string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.as.path
}

// groups returns the groups of the first process and of the health check.
func (j *job) groups() (all []int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.pid != 0 {
		all = append(all, j.pid)
	}
	if j.check != nil && j.check.pid != 0 {
		all = append(all, j.check.pid)
	}
	return all
}

// isNotOfJob reports whether a child is not part of the job, but one of our programs, or a
// child from before we were leaderrun.
func (j *job) isNotOfJob(pid int, started uint64) bool {
	before, known := j.client.before[pid]
	switch {
	case known && before == started:
		return true
	case started != 0 && started < j.client.birth: // 0: it is hidden
		return true
	}
	return j.onDeath.NotOfJob != nil && j.onDeath.NotOfJob(pid)
}

func (j *job) guardIsDead() bool { return proc.IsClosed(j.client.child.ended) }
