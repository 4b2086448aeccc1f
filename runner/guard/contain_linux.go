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

// makeContainer makes a container of a tier; a cgroup is made in home. If "" was asked for, and
// it is not of the strongest tier, why says why not.
func makeContainer(use Tier, home cgroup.Home) (made container, why string, err error) {
	switch use {
	case Pgroup:
		proc.AdoptOrphans() // to reap orphans; those that have left the group may live on
		return groupContainer{}, "", nil
	case Pidns:
		return pidContainer{}, "", mountProc()
	}
	proc.AdoptOrphans()
	spare, err := proc.NewSpare()
	if err != nil {
		return nil, "", fmt.Errorf("reserve descriptors to kill with: %w", err)
	}
	tree := treeContainer{spare}
	if use == Subreaper {
		return tree, "", nil
	}
	group, err := home.New()
	switch {
	case err == nil:
		return cgroupContainer{treeContainer: tree, group: group}, "", nil
	case use == Cgroup:
		return nil, "", err
	}
	return tree, err.Error(), nil
}

// namespaced arranges that the guard becomes the init of a pid namespace. Without privileges
// that also takes a user namespace.
func namespaced(attr *syscall.SysProcAttr) {
	attr.Cloneflags |= syscall.CLONE_NEWPID | syscall.CLONE_NEWNS
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN} // for mountProc
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
}

// mountProc mounts a /proc for our pid namespace, which a leaderrun in the job needs. Later
// mounts outside are still visible inside, but not the other way round.
func mountProc() error {
	err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, "")
	if err == nil {
		err = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	}
	if err != nil {
		return fmt.Errorf("the tier pidns is not available here: mount its own /proc: %w", err)
	}
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // so the job does not have it
}

// treeContainer is [Subreaper].
type treeContainer struct{ spare *proc.Spare }

func (treeContainer) tier() Tier                   { return Subreaper }
func (treeContainer) prepare(*syscall.SysProcAttr) {}
func (treeContainer) remove()                      {}
func (treeContainer) leftByCheck(*guard, int)      {} // its processes are found like the others

func (treeContainer) signalGroup(g *guard, sig syscall.Signal) {
	if !g.ended {
		_ = syscall.Kill(-g.job, sig)
		return
	}
	// The group's id may belong to others by now, unless one of our children is in it.
	_, _ = proc.Tree{Exclude: g.isCheck, Enough: g.attend}.Signal(g.job, false, sig)
}

func (c treeContainer) signalAll(g *guard, sigs ...syscall.Signal) {
	if sigs[0] == syscall.SIGKILL {
		c.spare.Spend()
	}
	for _, sig := range sigs {
		if !g.ended {
			_ = syscall.Kill(-g.job, sig) // all at once, so that no process can escape by forking
		}
	}
	tree := proc.Tree{Enough: func() bool { return g.attend() && sigs[0] != syscall.SIGKILL }}
	_, _ = tree.Signal(g.job, !g.ended, sigs...)
}

// nothingLeft relies on the kernel: a process that loses its parent becomes our child.
func (treeContainer) nothingLeft(g *guard) bool { return g.childless }

// cgroupContainer is [Cgroup]. It also uses the tree, because a job with the permission to
// do so can leave its cgroup.
type cgroupContainer struct {
	treeContainer
	group *cgroup.Group
}

func (c cgroupContainer) tier() Tier { return Cgroup }
func (c cgroupContainer) remove()    { _ = c.group.Remove() } // if that fails, a later run sweeps it

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

// pidContainer is [Pidns]: all processes that we see are the job.
type pidContainer struct{}

func (pidContainer) tier() Tier                   { return Pidns }
func (pidContainer) prepare(*syscall.SysProcAttr) {}
func (pidContainer) remove()                      {}
func (pidContainer) leftByCheck(*guard, int)      {}
func (pidContainer) nothingLeft(g *guard) bool    { return g.childless }

// signalGroup signals all processes once the first one has ended, even a health check: it
// cannot know which ones were in the group.
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

// cgroupPath returns the path of the cgroup, by which leaderrun can kill the job without the
// guard, or "".
func cgroupPath(c container) string {
	if c, ok := c.(cgroupContainer); ok {
		return c.group.Path()
	}
	return ""
}

// killCgroup kills the processes of a cgroup, and removes it when none is left.
func killCgroup(path string) (empty bool) {
	g, err := cgroup.Open(path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer g.Close() // killCgroup is called repeatedly, and descriptors may be scarce
	_ = g.Kill()
	left, _ := g.Populated()
	return !left && g.Remove() == nil
}

// check returns why a tier is not available, or nil. That of Pidns is seen when its guard is
// started.
func (t Tier) check() error {
	if t != Cgroup {
		return nil
	}
	g, err := cgroup.New()
	switch {
	case isShortage(err):
		return nil // the guard, which makes another, may find room
	case err != nil:
		return fmt.Errorf("the tier cgroup is not available here: %w", err)
	}
	return g.Remove()
}

// Best returns the tier by which a job is contained if no other is requested, and why no
// stronger one is. It leaves nothing behind.
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
