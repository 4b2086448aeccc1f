//go:build unix

package guard

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A host is the machine as a keeper needs it; tests have a model of one.
type host interface {
	clock.Clock
	// notify has a signal sent to c when a child has ended.
	notify(c chan<- os.Signal)
	cage(Containment) (made cage, why string, err error)
	spawn(proc.Command, *syscall.SysProcAttr) (pid int, err error)
	// wait is [proc.Wait].
	wait(*syscall.WaitStatus) (pid int, err error)
}

// A machine is a real host.
type machine struct{ clock.Boot }

func (machine) notify(c chan<- os.Signal) { signal.Notify(c, syscall.SIGCHLD) }

func (machine) cage(c Containment) (made cage, why string, err error) { return newCage(c) }

func (machine) spawn(c proc.Command, attr *syscall.SysProcAttr) (pid int, err error) {
	return proc.Spawn(c, attr)
}

func (machine) wait(ws *syscall.WaitStatus) (pid int, err error) {
	return proc.Wait(ws)
}
