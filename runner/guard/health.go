package guard

import (
	"errors"
	"slices"
	"syscall"
	"time"

	"github.com/leaderrun/leaderrun/runner/proc"
)

var errBusy = errors.New("another health check is running")

// errOver is why no health check is started. The guard reports it as errnoLate.
const errOver failure = "the job has ended, or is being killed"

// checkPatience is how long the guard may take to start a health check. After that the guard
// does not count as failed: if it is frozen, we notice that when we need it.
const checkPatience = 10 * time.Second

// A check is the proc.HealthCheck of a job. The job's mutex protects its fields.
type check struct {
	j       *job
	number  int64 // among those of the job
	pid     int   // and its group, as the guard sees them; 0: not known
	started chan error
	done    chan struct{} // closed when exit is set
	exit    proc.Exit
}

// CheckHealth implements [proc.Job].
func (j *job) CheckHealth(c proc.Command) (proc.HealthCheck, error) {
	a, err := j.newCheck()
	if err != nil {
		return nil, err
	}
	if f := (checkStart{a.number, c}).frame(); len(f.body) <= longest {
		for _, p := range f.parts() {
			j.order(p)
		}
	} else {
		j.mu.Lock()
		j.endCheck(proc.Exit{}, syscall.E2BIG)
		j.mu.Unlock()
	}
	timer := time.NewTimer(j.client.startsCheck)
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

func (j *job) newCheck() (*check, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.unguarded:
		return nil, errDied
	case j.ended:
		return nil, errOver
	case j.check != nil:
		return nil, errBusy
	}
	j.checks++
	j.check = &check{j: j, number: j.checks, started: make(chan error, 1), done: make(chan struct{})}
	return j.check, nil
}

// handleCheck handles frames about the health check. The caller holds mu.
func (j *job) handleCheck(f frame) {
	if j.check == nil {
		return
	}
	n, _ := f.number()
	switch f.kind {
	case kindCheckStarted:
		j.check.pid = int(n)
		j.check.deliver(nil)
	case kindCheckFailed:
		j.endCheck(proc.Exit{}, f.failure())
	case kindCheckExited:
		j.endCheck(exitOf(n), nil)
	}
}

// endCheck notes how the health check ended, or why it was not started. The caller holds mu.
func (j *job) endCheck(e proc.Exit, err error) {
	a := j.check
	if a == nil {
		return
	}
	j.check = nil
	a.deliver(err)
	a.exit = e
	close(a.done)
}

// deliver sends the result of the start to CheckHealth, once.
func (a *check) deliver(err error) {
	select {
	case a.started <- err:
	default:
	}
}

// Kill implements [proc.HealthCheck].
func (a *check) Kill() {
	select {
	case <-a.done:
	default:
		a.j.order(number(kindKillCheck, a.number))
	}
}

// Done implements [proc.HealthCheck].
func (a *check) Done() <-chan struct{} { return a.done }

// Exit implements [proc.HealthCheck].
func (a *check) Exit() proc.Exit {
	a.j.mu.Lock()
	defer a.j.mu.Unlock()
	return a.exit
}

// A running is a health check that runs.
type running struct {
	pid    int // and its group; 0: none runs
	number int64
}

// startCheck starts a health check as the job's first process was started.
func (g *guard) startCheck(f frame) {
	r, err := f.checkStart()
	if err == nil {
		g.check, err = g.spawnCheck(r)
	}
	if err != nil {
		errno := syscall.EINVAL
		errors.As(err, &errno)
		g.report(number(kindCheckFailed, int64(errno)))
		return
	}
	g.report(number(kindCheckStarted, int64(g.check.pid)))
}

// spawnCheck starts a check, unless it would have to be killed at once, or the first process
// has ended: the check would keep the job from being gone.
func (g *guard) spawnCheck(r checkStart) (running, error) {
	if g.job == 0 || g.ended || g.kills > 0 || g.host.Now() >= g.killBy {
		return g.check, errnoLate
	}
	if g.check.pid != 0 {
		return g.check, syscall.EBUSY
	}
	attr := jobAttr()
	g.container.prepare(attr)
	r.command.NoInput = true
	pid, err := g.host.spawn(r.command, attr)
	return running{pid, r.number}, err
}

// killCheck kills the check's group, and the check itself in case it has left the group.
// Until the check is reaped, both ids belong to it.
func (g *guard) killCheck(f frame) {
	n, err := f.number()
	if err != nil || g.check.pid == 0 || n != g.check.number {
		return
	}
	_ = syscall.Kill(-g.check.pid, syscall.SIGKILL)
	_ = syscall.Kill(g.check.pid, syscall.SIGKILL)
}

// checkEnded is called when the check has been reaped.
func (g *guard) checkEnded(ws syscall.WaitStatus) {
	g.container.leftByCheck(g, g.check.pid)
	g.check = running{}
	g.report(number(kindCheckExited, int64(ws)))
}

// groups returns all groups of the job, for [Pgroup].
func (g *guard) groups() []int {
	all := append([]int{g.job}, g.dying...)
	if g.check.pid != 0 {
		all = append(all, g.check.pid)
	}
	return all
}

// forgetDeadGroups forgets groups that have no process left.
func (g *guard) forgetDeadGroups() {
	if len(g.dying) == 0 {
		return
	}
	if g.dying = slices.DeleteFunc(g.dying, func(g int) bool { return !populated(g) }); len(g.dying) > 0 {
		g.lookAgain()
	}
}

// populated reports whether a group has a process. While it has one, no other group can have
// its id.
func populated(group int) bool { return !errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) }

// isCheck is the Exclude of a [proc.Tree].
func (g *guard) isCheck(pid int, _ uint64) bool { return pid == g.check.pid }
