package guard

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/runner/cgroup"
	"github.com/leaderrun/leaderrun/runner/proc"
)

func makeContainer(use Tier) (made container, why string, err error) {
	switch use {
	case Pgroup:
		proc.AdoptOrphans() // to reap them; what has left the group may live on
		return groupContainer{}, "", nil
	case Pidns:
		return pidContainer{}, "", mountProc()
	}
	proc.AdoptOrphans()
	spare, err := proc.NewSpare()
	if err != nil {
		return nil, "", fmt.Errorf("hold descriptors to kill with: %w", err)
	}
	tree := treeContainer{spare}
	if use == Subreaper {
		return tree, "", nil
	}
	group, err := cgroup.New()
	switch {
	case err == nil:
		return cgroupContainer{treeContainer: tree, group: group}, "", nil
	case use == Cgroup:
		return nil, "", err
	}
	return tree, err.Error(), nil
}

// namespaced has the guard made the init of a pid namespace. Without privileges
// that takes a user namespace, too.
func namespaced(attr *syscall.SysProcAttr) {
	attr.Cloneflags |= syscall.CLONE_NEWPID | syscall.CLONE_NEWNS
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN} // for mountProc
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
}

// mountProc gives a pid namespace a /proc of its own, which a leaderrun in it needs. What
// is mounted outside is still seen inside, and not the other way round.
func mountProc() error {
	err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, "")
	if err == nil {
		err = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	}
	if err != nil {
		return fmt.Errorf("the tier pidns cannot be had here: mount a /proc of its own: %w", err)
	}
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // the job has none of it
}

// treeContainer is [Subreaper].
type treeContainer struct{ spare *proc.Spare }

func (treeContainer) tier() Tier                   { return Subreaper }
func (treeContainer) prepare(*syscall.SysProcAttr) {}
func (treeContainer) remove()                      {}
func (treeContainer) leftByCheck(*guard, int)      {} // it is found as the rest is

func (treeContainer) signalGroup(g *guard, sig syscall.Signal) {
	if !g.ended {
		_ = syscall.Kill(-g.job, sig)
		return
	}
	// The group's id may be a stranger's by now, unless one of our children is
	// in it.
	_, _ = proc.Tree{Exclude: g.isCheck, Enough: g.mustKill}.Signal(g.job, false, sig)
}

func (c treeContainer) signalAll(g *guard, sigs ...syscall.Signal) {
	if sigs[0] == syscall.SIGKILL {
		c.spare.Spend()
	}
	for _, sig := range sigs {
		if !g.ended {
			_ = syscall.Kill(-g.job, sig) // at one moment, so that no process of it can slip through by forking
		}
	}
	tree := proc.Tree{}
	if sigs[0] != syscall.SIGKILL {
		tree.Enough = g.mustKill
	}
	_, _ = tree.Signal(g.job, !g.ended, sigs...)
}

// nothingLeft knows that what had lost its parent would have become our child.
func (treeContainer) nothingLeft(g *guard) bool { return g.childless }

// cgroupContainer is [Cgroup]. The tree is still looked at: a job that may can leave
// its cgroup.
type cgroupContainer struct {
	treeContainer
	group *cgroup.Group
}

func (c cgroupContainer) tier() Tier { return Cgroup }
func (c cgroupContainer) remove()    { _ = c.group.Remove() } // if it cannot be, the next run sweeps it

func (c cgroupContainer) prepare(attr *syscall.SysProcAttr) {
	attr.UseCgroupFD, attr.CgroupFD = true, c.group.FD()
}

func (c cgroupContainer) signalAll(g *guard, sigs ...syscall.Signal) {
	if sigs[0] == syscall.SIGKILL {
		_ = c.group.Kill()
	}
	c.treeContainer.signalAll(g, sigs...)
}

func (c cgroupContainer) nothingLeft(g *guard) bool {
	if !g.childless {
		return false
	}
	if left, _ := c.group.Populated(); left {
		g.lookAgain()
		return false
	}
	return true
}

// pidContainer is [Pidns]: all that we see is the job.
type pidContainer struct{}

func (pidContainer) tier() Tier                   { return Pidns }
func (pidContainer) prepare(*syscall.SysProcAttr) {}
func (pidContainer) remove()                      {}
func (pidContainer) leftByCheck(*guard, int)      {}
func (pidContainer) nothingLeft(g *guard) bool    { return g.childless }

// signalGroup can tell nothing apart once the first process has ended: it also meets a
// health check.
func (pidContainer) signalGroup(g *guard, sig syscall.Signal) {
	to := -g.job
	if g.ended {
		to = -1
	}
	_ = syscall.Kill(to, sig)
}

func (pidContainer) signalAll(_ *guard, sigs ...syscall.Signal) {
	for _, sig := range sigs {
		_ = syscall.Kill(-1, sig)
	}
}

// cgroupPath is what leaderrun needs to kill a contained job without the guard.
func cgroupPath(c container) string {
	if c, ok := c.(cgroupContainer); ok {
		return c.group.Path()
	}
	return ""
}

// killCgroup kills what is in a cgroup, and removes it once nothing is.
func killCgroup(path string) (empty bool) {
	g, err := cgroup.Open(path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer g.Close() // it is done again and again, maybe with the last descriptors
	_ = g.Kill()
	left, _ := g.Populated()
	return !left && g.Remove() == nil
}

// check reports why a containment cannot be had.
func (c Containment) check() error {
	if c.Use != "" && c.Use.weaker(c.Least) {
		return fmt.Errorf("the tier %s is weaker than %s", c.Use, c.Least)
	}
	if c.Use != Cgroup && (c.Use != "" || !Subreaper.weaker(c.Least)) {
		return nil
	}
	g, err := cgroup.New()
	if err != nil {
		return fmt.Errorf("the tier cgroup cannot be had here: %w", err)
	}
	return g.Remove()
}

// Best returns the tier that a job is kept together by unless another is asked
// for, and what is in the way of a stronger one. It leaves nothing behind.
func Best() (tier Tier, why string) {
	g, err := cgroup.New()
	if err != nil {
		return Subreaper, err.Error()
	}
	if err := g.Remove(); err != nil {
		return Subreaper, err.Error()
	}
	return Cgroup, ""
}
