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

func makeCage(use Tier) (made cage, why string, err error) {
	switch use {
	case Pgroup:
		proc.AdoptOrphans() // to reap them; what has left the group may live on
		return groupCage{}, "", nil
	case Pidns:
		return pidCage{}, "", mountProc()
	}
	proc.AdoptOrphans()
	spare, err := proc.NewSpare()
	if err != nil {
		return nil, "", fmt.Errorf("hold descriptors to kill with: %w", err)
	}
	tree := treeCage{spare}
	if use == Subreaper {
		return tree, "", nil
	}
	group, err := cgroup.New()
	switch {
	case err == nil:
		return cgroupCage{treeCage: tree, group: group}, "", nil
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

// treeCage is [Subreaper].
type treeCage struct{ spare *proc.Spare }

func (treeCage) tier() Tier                   { return Subreaper }
func (treeCage) prepare(*syscall.SysProcAttr) {}
func (treeCage) remove()                      {}
func (treeCage) leftAside(*keeper, int)       {} // it is found as the rest is

func (treeCage) signalGroup(k *keeper, sig syscall.Signal) {
	if !k.ended {
		_ = syscall.Kill(-k.job, sig)
		return
	}
	// The group's id may be a stranger's by now, unless one of our children is
	// in it.
	_, _ = proc.Tree{Keep: k.isAside, Enough: k.mustKill}.Signal(k.job, false, sig)
}

func (c treeCage) signalAll(k *keeper, sigs ...syscall.Signal) {
	if sigs[0] == syscall.SIGKILL {
		c.spare.Spend()
	}
	for _, sig := range sigs {
		if !k.ended {
			_ = syscall.Kill(-k.job, sig) // at one moment, so that no process of it can slip through by forking
		}
	}
	tree := proc.Tree{}
	if sigs[0] != syscall.SIGKILL {
		tree.Enough = k.mustKill
	}
	_, _ = tree.Signal(k.job, !k.ended, sigs...)
}

// nothingLeft knows that what had lost its parent would have become our child.
func (treeCage) nothingLeft(k *keeper) bool { return k.childless }

// cgroupCage is [Cgroup]. The tree is still looked at: a job that may can leave
// its cgroup.
type cgroupCage struct {
	treeCage
	group *cgroup.Group
}

func (c cgroupCage) tier() Tier { return Cgroup }
func (c cgroupCage) remove()    { _ = c.group.Remove() } // if it cannot be, the next run sweeps it

func (c cgroupCage) prepare(attr *syscall.SysProcAttr) {
	attr.UseCgroupFD, attr.CgroupFD = true, c.group.FD()
}

func (c cgroupCage) signalAll(k *keeper, sigs ...syscall.Signal) {
	if sigs[0] == syscall.SIGKILL {
		_ = c.group.Kill()
	}
	c.treeCage.signalAll(k, sigs...)
}

func (c cgroupCage) nothingLeft(k *keeper) bool {
	if !k.childless {
		return false
	}
	if left, _ := c.group.Populated(); left {
		k.lookAgain()
		return false
	}
	return true
}

// pidCage is [Pidns]: all that we see is the job.
type pidCage struct{}

func (pidCage) tier() Tier                   { return Pidns }
func (pidCage) prepare(*syscall.SysProcAttr) {}
func (pidCage) remove()                      {}
func (pidCage) leftAside(*keeper, int)       {}
func (pidCage) nothingLeft(k *keeper) bool   { return k.childless }

// signalGroup can tell nothing apart once the first process has ended: what runs
// beside the job is met, too.
func (pidCage) signalGroup(k *keeper, sig syscall.Signal) {
	to := -k.job
	if k.ended {
		to = -1
	}
	_ = syscall.Kill(to, sig)
}

func (pidCage) signalAll(_ *keeper, sigs ...syscall.Signal) {
	for _, sig := range sigs {
		_ = syscall.Kill(-1, sig)
	}
}

// cgroupPath is what leaderrun needs to kill a caged job without the guard.
func cgroupPath(c cage) string {
	if c, ok := c.(cgroupCage); ok {
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
