//go:build unix

package guard

import (
	"errors"
	"slices"
	"syscall"
)

// A running is what runs beside the job.
type running struct {
	pid    int // and its group; 0: there is nothing
	number int64
}

// startAside starts a command beside the job, as the job's first process was.
func (k *keeper) startAside(f frame) {
	r, err := f.request()
	if err == nil {
		k.aside, err = k.spawnAside(r)
	}
	if err != nil {
		errno := syscall.EINVAL
		errors.As(err, &errno)
		k.say(number(kindAsideFailed, int64(errno)))
		return
	}
	k.say(number(kindAsideStarted, int64(k.aside.pid)))
}

// spawnAside starts nothing that would have to be killed at once, or beside a job
// that has ended: that would not be gone for it.
func (k *keeper) spawnAside(r request) (running, error) {
	if k.job == 0 || k.ended || k.kills > 0 || k.host.Now() >= k.killBy {
		return k.aside, errnoLate
	}
	if k.aside.pid != 0 {
		return k.aside, syscall.EBUSY
	}
	attr := jobAttr()
	k.cage.prepare(attr)
	r.command.NoInput = true
	pid, err := k.host.spawn(r.command, attr)
	return running{pid, r.number}, err
}

// killAside kills its group, and itself, should it have left that. As long as it
// is not reaped, both ids are its own.
func (k *keeper) killAside(f frame) {
	n, err := f.number()
	if err != nil || k.aside.pid == 0 || n != k.aside.number {
		return
	}
	_ = syscall.Kill(-k.aside.pid, syscall.SIGKILL)
	_ = syscall.Kill(k.aside.pid, syscall.SIGKILL)
}

// asideEnded is called when it has been reaped.
func (k *keeper) asideEnded(ws syscall.WaitStatus) {
	k.cage.leftAside(k, k.aside.pid)
	k.aside = running{}
	k.say(number(kindAsideExited, int64(ws)))
}

// groups are all that [Pgroup] knows of the job.
func (k *keeper) groups() []int {
	all := append([]int{k.job}, k.dying...)
	if k.aside.pid != 0 {
		all = append(all, k.aside.pid)
	}
	return all
}

// bury forgets those groups that have died.
func (k *keeper) bury() {
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

// isAside is a [proc.Tree]'s Keep.
func (k *keeper) isAside(pid int, _ uint64) bool { return pid == k.aside.pid }
