package proc

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// adoptOrphans makes this process the parent of what the job leaves behind, so
// that it can be reaped here: a zombie nobody reaps would look like a process
// of the job for ever (an init that does not reap is common in containers).
func adoptOrphans() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // since Linux 3.4; without it init reaps
}

// reapOrphans reaps them until the first process has ended: a job may run for
// months, and leave one behind every minute.
func (g *group) reapOrphans() {
	select { // a job that is over by then is spared the catching of a signal
	case <-time.After(100 * time.Millisecond):
	case <-g.exited:
		return
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	for {
		g.mu.Lock()
		g.reap()
		g.mu.Unlock()
		select {
		case <-ended:
		case <-g.exited:
			return
		}
	}
}

// wait blocks until the first process has ended, and does not reap it. By its
// own id, as it may leave its group while we wait.
func (g *group) wait() {
	for unix.Waitid(unix.P_PID, g.pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}
