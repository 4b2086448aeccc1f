//go:build unix && !linux

package guard

import (
	"errors"
	"syscall"

	"github.com/leaderrun/leaderrun/locks/clock"
)

func jobAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// signalGroup signals the first process's group, which is all that is known of
// the job here.
func (k *keeper) signalGroup(sig syscall.Signal) { _ = syscall.Kill(-k.job, sig) }

func (k *keeper) signalAll(sigs ...syscall.Signal) {
	for _, sig := range sigs {
		k.signalGroup(sig)
	}
}

// nothingLeft is asked when we have no child: what the job left behind is not
// ours, but its group is not empty then, and nobody else can have its id.
func (k *keeper) nothingLeft() bool {
	if errors.Is(syscall.Kill(-k.job, 0), syscall.ESRCH) {
		return true
	}
	k.lookAt = clock.Boot{}.Now().Add(slowly)
	return false
}
