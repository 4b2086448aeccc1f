//go:build unix

package runner

import (
	"syscall"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// An aside is what runs beside the model job. It runs until a test, a kill, or the
// end of the job ends it.
type aside struct {
	j    *job
	done chan struct{}
	exit proc.Exit
}

// Beside implements [proc.Job]. The test's besides decides what becomes of it; by
// default it exits with 0 at once.
func (j *job) Beside(c proc.Command) (proc.Aside, error) {
	if j.refuseBeside != nil {
		j.r.note("beside fails")
		return nil, j.refuseBeside
	}
	j.r.note("beside")
	a := &aside{j: j, done: make(chan struct{})}
	j.mu.Lock()
	j.aside = a
	j.mu.Unlock()
	if j.besides != nil {
		j.besides(a, c)
	} else {
		a.end(proc.Exit{})
	}
	return a, nil
}

func (a *aside) end(e proc.Exit) {
	a.j.mu.Lock()
	defer a.j.mu.Unlock()
	if a.j.aside == a {
		a.j.checked()
		a.j.aside, a.exit = nil, e
		close(a.done)
	}
}

func (a *aside) Done() <-chan struct{} { return a.done }

func (a *aside) Exit() proc.Exit {
	select {
	case <-a.done:
	default:
		a.j.r.t.Error("Exit was asked for before Done was closed")
	}
	return a.exit
}

func (a *aside) Kill() {
	a.j.r.note("kill beside")
	if a.j.immortal {
		return
	}
	a.end(proc.Exit{Signal: syscall.SIGKILL})
}

var _ proc.Aside = (*aside)(nil)
