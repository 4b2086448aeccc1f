package guard

import (
	"syscall"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// jobAttr is how a job is started: in a group of its own, and killed by the
// kernel if its guard dies.
func jobAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// signalGroup signals the first process's group.
func (k *keeper) signalGroup(sig syscall.Signal) {
	if !k.ended {
		_ = syscall.Kill(-k.job, sig)
		return
	}
	// The group's id may be a stranger's by now, unless one of our children is
	// in it.
	_, _ = proc.Tree{}.Signal(k.job, false, sig)
}

// signalAll signals every process of the job.
func (k *keeper) signalAll(sigs ...syscall.Signal) {
	for _, sig := range sigs {
		if !k.ended {
			_ = syscall.Kill(-k.job, sig) // at one moment, so that no process of it can slip through by forking
		}
	}
	_, _ = proc.Tree{}.Signal(k.job, !k.ended, sigs...)
}

// nothingLeft is asked when we have no child: then nothing is, as what had lost
// its parent would have become one.
func (k *keeper) nothingLeft() bool { return true }
