package guard

import (
	"errors"
	"syscall"
	"time"

	"github.com/leaderrun/leaderrun/runner/proc"
)

var errBusy = errors.New("another command runs beside the job")

// errOver is why nothing is started beside a job. The guard says so by the
// number of errLate.
const errOver failure = "the job has ended, or is being killed"

// asidePatience is how long the guard may take to answer whether a command was
// started beside the job. It is not given up for that: if it is frozen, that is
// noticed when it is needed.
const asidePatience = 10 * time.Second

// An aside is the proc.Aside of a job. What changes belongs to the job's mutex.
type aside struct {
	j       *job
	number  int64 // among those of the job
	pid     int   // and its group, as the guard knows it; 0: not known
	started chan error
	done    chan struct{} // closed when exit is set
	exit    proc.Exit
}

// Beside implements [proc.Job].
func (j *job) Beside(c proc.Command) (proc.Aside, error) {
	a, err := j.newAside()
	if err != nil {
		return nil, err
	}
	if f := (request{a.number, c}).frame(); len(f.body) <= longest {
		for _, p := range f.parts() {
			j.tell(p)
		}
	} else {
		j.mu.Lock()
		j.endAside(proc.Exit{}, syscall.E2BIG)
		j.mu.Unlock()
	}
	timer := time.NewTimer(j.g.startsAside)
	defer timer.Stop()
	select {
	case err = <-a.started:
	case <-timer.C:
		a.Kill() // as soon as it is started
		err = errSilent
	}
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno) && errno == errnoLate:
		return nil, errOver
	case errors.As(err, &errno):
		return nil, proc.NewStartError(c.Path, errno)
	case err != nil:
		return nil, err
	}
	return a, nil
}

func (j *job) newAside() (*aside, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.taken:
		return nil, errDied
	case j.ended:
		return nil, errOver
	case j.aside != nil:
		return nil, errBusy
	}
	j.asides++
	j.aside = &aside{j: j, number: j.asides, started: make(chan error, 1), done: make(chan struct{})}
	return j.aside, nil
}

// hearAside takes what the guard says of what runs beside the job; mu is held.
func (j *job) hearAside(f frame) {
	if j.aside == nil {
		return
	}
	n, _ := f.number()
	switch f.kind {
	case kindAsideStarted:
		j.aside.pid = int(n)
		j.aside.deliver(nil)
	case kindAsideFailed:
		j.endAside(proc.Exit{}, f.failure())
	case kindAsideExited:
		j.endAside(exitOf(n), nil)
	}
}

// endAside notes how what runs beside the job ended, or why it was not started;
// mu is held.
func (j *job) endAside(e proc.Exit, err error) {
	a := j.aside
	if a == nil {
		return
	}
	j.aside = nil
	a.deliver(err)
	a.exit = e
	close(a.done)
}

// deliver tells Beside how the start went, once.
func (a *aside) deliver(err error) {
	select {
	case a.started <- err:
	default:
	}
}

// Kill implements [proc.Aside].
func (a *aside) Kill() {
	select {
	case <-a.done:
	default:
		a.j.tell(number(kindKillAside, a.number))
	}
}

// Done implements [proc.Aside].
func (a *aside) Done() <-chan struct{} { return a.done }

// Exit implements [proc.Aside].
func (a *aside) Exit() proc.Exit {
	a.j.mu.Lock()
	defer a.j.mu.Unlock()
	return a.exit
}
