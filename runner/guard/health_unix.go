//go:build unix

package guard

import (
	"errors"
	"slices"
	"syscall"
)

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
