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
	for clean := 0; clean < 2; { // one look can miss what is just being started
		if j.g.sweep(j) {
			clean++
		} else {
			clean = 0
		}
		time.Sleep(quickly)
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
	j.killGroups()
	_, _ = tree.Signal(nobodys, false, syscall.SIGKILL)
	empty := j.as.path == "" || killCgroup(j.as.path)
	return j.allDead(tree) && empty
}

// isNotOfTheJob is for a helper, for other programs of ours, and for what was our
// child before we were leaderrun.
func (j *job) isNotOfTheJob(pid int, started uint64) bool {
	return pid == j.will.Helper || started < j.g.birth || j.will.Keep != nil && j.will.Keep(pid)
}

func (j *job) guardIsDead() bool {
	select {
	case <-j.g.child.ended:
		return true
	default:
		return false
	}
}
