//go:build unix

package guard

import (
	"syscall"
	"time"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// nobodys is no group's id.
const nobodys = -1

// takeOver kills the guard and the job, and returns when nothing of them is
// left: with the guard dead, what it had is ours.
func (j *job) takeOver() {
	j.g.child.kill()
	for clean, looks := 0, 0; clean < 2; looks++ { // one look can miss what is just being started
		if j.g.sweep(j) {
			clean++
		} else {
			clean = 0
		}
		pause := quickly
		if looks > many {
			pause = slowly
		}
		time.Sleep(pause)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.gone = true
	dead := proc.Exit{Signal: syscall.SIGKILL}
	j.end(dead)
	j.endAside(dead, errDied)
}

// sweep is a Guard's.
func (j *job) sweep() (clean bool) {
	j.g.spare.Spend()
	tree := proc.Tree{Keep: j.isNotOfTheJob}
	if j.g.containment.Use == Pgroup { // what has left the groups has left the job
		tree.Groups = j.groups()
	}
	j.killGroups()
	alive, _ := tree.Signal(nobodys, false, syscall.SIGKILL)
	path := j.cgroup()
	empty := path == "" || killCgroup(path)
	return j.allDead(tree) && alive == 0 && empty
}

func (j *job) cgroup() (path string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.as.path
}

// groups are the first process's and that of what runs beside it.
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

// isNotOfTheJob is for programs of ours, and for what was our child before we were
// leaderrun.
func (j *job) isNotOfTheJob(pid int, started uint64) bool {
	before, known := j.g.before[pid]
	switch {
	case known && before == started:
		return true
	case started != 0 && started < j.g.birth: // else it is hidden
		return true
	}
	return j.will.Keep != nil && j.will.Keep(pid)
}

func (j *job) guardIsDead() bool { return isClosed(j.g.child.ended) }
