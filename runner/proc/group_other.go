//go:build unix && !linux

package proc

import (
	"errors"
	"syscall"
)

func sysProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func adoptOrphans() {}

func (g *group) reapOrphans() {}

// wait waits for the first process and reaps it. In the moment after that, the
// id of an emptied group might be given away.
func (g *group) wait() {
	var ws syscall.WaitStatus
	err := error(syscall.EINTR)
	for errors.Is(err, syscall.EINTR) {
		_, err = syscall.Wait4(g.pid, &ws, 0, nil)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		g.reaped, g.exit = true, exitOf(ws)
	}
}
