//go:build unix

package guard

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
)

// A Tier is a way to keep a job together, so that none of it can get away.
type Tier string

// The tiers, the weakest first.
const (
	// Pgroup is the first process's group: what leaves it has left the job.
	Pgroup Tier = "pgroup"
	// Subreaper is all that descends from the guard, which adopts what loses its
	// parent. Linux only.
	Subreaper Tier = "subreaper"
	// Pidns is a pid namespace, in which the guard is init: the kernel kills all
	// of it with the guard. Linux only, and only if asked for: the job's processes
	// have other ids than those in /proc.
	Pidns Tier = "pidns"
	// Cgroup is a cgroup (v2) of the job's own, besides Subreaper. Linux only,
	// where we may make one.
	Cgroup Tier = "cgroup"
)

// Tiers are all of them, the weakest first.
func Tiers() []Tier { return []Tier{Pgroup, Subreaper, Pidns, Cgroup} }

func (t Tier) weaker(than Tier) bool { return slices.Index(Tiers(), t) < slices.Index(Tiers(), than) }

// A Containment says which tier is to be used.
type Containment struct {
	Use   Tier // "": the best there is, but for Pidns
	Least Tier // nothing weaker will do; "": anything will
}

// A container keeps a job together in the way of one tier.
type container interface {
	tier() Tier
	// prepare makes a start one into the container.
	prepare(*syscall.SysProcAttr)
	// signalGroup signals the first process's group.
	signalGroup(g *guard, sig syscall.Signal)
	// signalAll signals every process of the job.
	signalAll(g *guard, sigs ...syscall.Signal)
	// leftByCheck is told that a health check, in a group of that id, has been reaped.
	leftByCheck(g *guard, group int)
	// nothingLeft is asked when the first process has been reaped, and there is
	// nothing more to reap.
	nothingLeft(g *guard) bool
	// remove removes what the container was made of, after the end.
	remove()
}

// newContainer makes the container that is wanted. If it is not the strongest, why says
// what is in the way of that.
func newContainer(c Containment) (made container, why string, err error) {
	made, why, err = makeContainer(c.Use)
	if err == nil && made.tier().weaker(c.Least) {
		made.remove()
		err = errors.New(why)
		if why == "" {
			err = fmt.Errorf("the tier %s is weaker", made.tier())
		}
	}
	return made, why, err
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

// leftByCheck kills what is left of the group, which is nobody's child that we know
// of: if it were left alone, its id could be a stranger's by the end of the job.
func (groupContainer) leftByCheck(g *guard, group int) {
	if syscall.Kill(-group, syscall.SIGKILL) == nil {
		g.dying = append(g.dying, group)
	}
}

// nothingLeft asks the kernel, as what the job left behind need not be our child.
func (groupContainer) nothingLeft(g *guard) bool {
	if slices.ContainsFunc(g.groups(), populated) {
		g.lookAgain()
		return false
	}
	return true
}
