package guard

import (
	"time"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// killUnguarded kills the guard and the job. It returns when nothing of them is left. A guard
// that is not dead may still be starting a process.
func (j *job) killUnguarded() {
	j.client.child.kill()
	for {
		_ = j.client.object.Kill()
		dead := j.guardIsDead()
		if empty, err := j.client.object.Empty(); dead && empty && err == nil {
			break
		}
		time.Sleep(shortPause)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.gone = true
	dead := proc.Exit{Code: proc.Killed}
	j.end(dead)
	j.endCheck(dead, errDied)
}

func (j *job) guardIsDead() bool { return isClosed(j.client.child.ended) }
