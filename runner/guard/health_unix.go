//go:build unix

package guard

import (
	"errors"
	"slices"
	"syscall"
)

// A running is a health check that runs.
type running struct {
	pid    int // and its group; 0: there is nothing
	number int64
}

// startCheck starts a health check, as the job's first process was started.
func (k *keeper) startCheck(f frame) {
	r, err := f.checkStart()
	if err == nil {
		k.check, err = k.spawnCheck(r)
	}
	if err != nil {
		errno := syscall.EINVAL
		errors.As(err, &errno)
		k.say(number(kindCheckFailed, int64(errno)))
		return
	}
	k.say(number(kindCheckStarted, int64(k.check.pid)))
}

// spawnCheck starts no check that would have to be killed at once, nor one of a job that
// has ended, which would keep that from being gone.
func (k *keeper) spawnCheck(r checkStart) (running, error) {
	if k.job == 0 || k.ended || k.kills > 0 || k.host.Now() >= k.killBy {
		return k.check, errnoLate
	}
	if k.check.pid != 0 {
		return k.check, syscall.EBUSY
	}
	attr := jobAttr()
	k.container.prepare(attr)
	r.command.NoInput = true
	pid, err := k.host.spawn(r.command, attr)
	return running{pid, r.number}, err
}

// killCheck kills the check's group, and the check itself, in case it has left the group.
// As long as it is not reaped, both ids are its own.
func (k *keeper) killCheck(f frame) {
	n, err := f.number()
	if err != nil || k.check.pid == 0 || n != k.check.number {
		return
	}
	_ = syscall.Kill(-k.check.pid, syscall.SIGKILL)
	_ = syscall.Kill(k.check.pid, syscall.SIGKILL)
}

// checkEnded is called when it has been reaped.
func (k *keeper) checkEnded(ws syscall.WaitStatus) {
	k.container.leftByCheck(k, k.check.pid)
	k.check = running{}
	k.say(number(kindCheckExited, int64(ws)))
}

// groups are all that [Pgroup] knows of the job.
func (k *keeper) groups() []int {
	all := append([]int{k.job}, k.dying...)
	if k.check.pid != 0 {
		all = append(all, k.check.pid)
	}
	return all
}

// forgetDeadGroups forgets those groups that have died.
func (k *keeper) forgetDeadGroups() {
	if len(k.dying) == 0 {
		return
	}
	if k.dying = slices.DeleteFunc(k.dying, func(g int) bool { return !populated(g) }); len(k.dying) > 0 {
		k.lookAgain()
	}
}

// populated reports whether a group has a process. While it has one, nobody else
// can have its id.
func populated(group int) bool { return !errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) }

// isCheck is a [proc.Tree]'s Keep.
func (k *keeper) isCheck(pid int, _ uint64) bool { return pid == k.check.pid }
