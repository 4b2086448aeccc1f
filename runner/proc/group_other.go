//go:build unix && !linux

package proc

import (
	"os"
	"syscall"
)

func sysProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func adoptOrphans() {}

func (g *group) reapOrphans() {}

// wait waits for the first process and reaps it. In the moment after that, the
// id of an emptied group might be given away.
func (g *group) wait(first *os.Process) {
	state, err := first.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		g.reaped, g.exit = true, exitOf(state.Sys().(syscall.WaitStatus))
	}
}
