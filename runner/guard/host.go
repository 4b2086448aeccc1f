package guard

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/cgroup"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A host is what a guard needs of the machine. Tests have a model of one.
type host interface {
	clock.Clock
	// notify arranges that c receives a signal when a child has ended.
	notify(c chan<- os.Signal)
	container(Tier) (made container, why string, err error)
	spawn(proc.Command, *syscall.SysProcAttr) (pid int, err error)
	// wait is like [proc.Wait].
	wait(*syscall.WaitStatus) (pid int, err error)
}

// A machine is a real host.
type machine struct {
	clock.Boot
	home cgroup.Home // of the job's cgroup; zero: to be found
}

func (machine) notify(c chan<- os.Signal) { signal.Notify(c, syscall.SIGCHLD) }

func (m machine) container(use Tier) (made container, why string, err error) {
	return makeContainer(use, m.home)
}

func (machine) spawn(c proc.Command, attr *syscall.SysProcAttr) (pid int, err error) {
	return proc.Spawn(c, attr)
}

func (machine) wait(ws *syscall.WaitStatus) (pid int, err error) {
	return proc.Wait(ws)
}
