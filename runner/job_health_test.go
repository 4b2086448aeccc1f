package runner

import (
	"errors"
	"syscall"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// A check is a health check of the model job. It runs until a test, a kill or the end of the
// job ends it.
type check struct {
	j    *job
	done chan struct{}
	exit proc.Exit
}

// CheckHealth implements [proc.Job]. The function checks decides what the check does. By
// default, it exits with 0 at once.
func (j *job) CheckHealth(c proc.Command) (proc.HealthCheck, error) {
	if j.refuseCheck != nil {
		j.r.note("check fails")
		return nil, j.refuseCheck
	}
	if j.check != nil {
		j.r.note("check refused")
		return nil, errors.New("another check runs")
	}
	j.r.note("check")
	a := &check{j: j, done: make(chan struct{})}
	j.mu.Lock()
	j.check = a
	j.mu.Unlock()
	if j.checks != nil {
		j.checks(a, c)
	} else {
		a.end(proc.Exit{})
	}
	return a, nil
}

func (a *check) end(e proc.Exit) {
	a.j.mu.Lock()
	defer a.j.mu.Unlock()
	if a.j.check == a {
		a.j.checked()
		a.j.check, a.exit = nil, e
		a.j.left()
		close(a.done)
	}
}

func (a *check) Done() <-chan struct{} { return a.done }

func (a *check) Exit() proc.Exit {
	select {
	case <-a.done:
	default:
		a.j.r.t.Error("Exit was asked for before Done was closed")
	}
	return a.exit
}

func (a *check) Kill() {
	a.j.r.note("kill check")
	if a.j.immortal || a.j.stuck {
		return
	}
	a.end(proc.Exit{Signal: syscall.SIGKILL})
}

var _ proc.HealthCheck = (*check)(nil)
