package guard

import (
	"errors"
	"slices"
	"syscall"

	"github.com/leaderrun/leaderrun/locks/program/threads"
)

// A Tier is a way to contain a job, so that none of its processes can escape; "" is the
// strongest one available, except Pidns.
type Tier string

// The tiers, the weakest first.
const (
	// Pgroup is the first process's group. A process that leaves the group leaves the job.
	Pgroup Tier = "pgroup"
	// Subreaper is all descendants of the guard, which adopts those that lose their
	// parent. Linux only.
	Subreaper Tier = "subreaper"
	// Pidns is a pid namespace in which the guard is init. The kernel kills the whole
	// namespace with the guard. Linux only, and only on request, because in the job,
	// processes have other ids than outside.
	Pidns Tier = "pidns"
	// Cgroup is a cgroup (v2) for the job, in addition to Subreaper. Linux only, where we
	// may make one.
	Cgroup Tier = "cgroup"
)

// Tiers returns all tiers, the weakest first.
func Tiers() []Tier { return []Tier{Pgroup, Subreaper, Pidns, Cgroup} }

// isShortage reports whether an error may pass, so that it does not say that a tier is missing.
func isShortage(err error) bool {
	return slices.ContainsFunc([]error{threads.ErrOut, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE}, func(e error) bool { return errors.Is(err, e) })
}

// A container contains a job as one tier does.
type container interface {
	tier() Tier
	// prepare changes attr so that a process starts in the container.
	prepare(attr *syscall.SysProcAttr)
	// signalGroup signals the first process's group.
	signalGroup(g *guard, sig syscall.Signal)
	// signalAll signals every process of the job.
	signalAll(g *guard, sigs ...syscall.Signal)
	// leftByCheck is called when a health check with this group has been reaped.
	leftByCheck(g *guard, group int)
	// nothingLeft reports whether no process of the job is left. It is called when the
	// first process has been reaped, and there is nothing more to reap.
	nothingLeft(g *guard) bool
	// remove removes the container when the job is gone.
	remove()
}

// groupContainer is [Pgroup].
type groupContainer struct{}

func (groupContainer) tier() Tier                   { return Pgroup }
func (groupContainer) prepare(*syscall.SysProcAttr) {}
func (groupContainer) remove()                      {}

func (groupContainer) signalGroup(g *guard, sig syscall.Signal) { _ = syscall.Kill(-g.job, sig) }

func (groupContainer) signalAll(g *guard, sigs ...syscall.Signal) {
	for _, sig := range sigs {
		for _, group := range g.groups() {
			_ = syscall.Kill(-group, sig)
		}
	}
}

// leftByCheck kills the processes that are left in the group. They may not be our children.
// If they lived on, the id of the group could belong to others by the end of the job.
func (groupContainer) leftByCheck(g *guard, group int) {
	if syscall.Kill(-group, syscall.SIGKILL) == nil {
		g.dying = append(g.dying, group)
	}
}

// nothingLeft asks the kernel, because processes of the job need not be our children.
func (groupContainer) nothingLeft(g *guard) bool {
	if slices.ContainsFunc(g.groups(), populated) {
		g.lookAgain()
		return false
	}
	return true
}
