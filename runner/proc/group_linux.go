package proc

import (
	"os"
	"sync"
	"syscall"

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

// wait waits for the first process, and locks mu before that is reaped.
// Meanwhile it reaps the orphans of the group: a job may run for months, and
// leave one behind every minute.
func wait(first *os.Process, mu *sync.Mutex) (syscall.WaitStatus, error) {
	defer first.Release()
	for {
		err := awaitZombie(unix.P_PGID, first.Pid)
		if err != nil { // the first process has left its group
			err = awaitZombie(unix.P_PID, first.Pid)
		}
		mu.Lock()
		if ws, ended := reap(first.Pid); ended || err != nil {
			return ws, err
		}
		mu.Unlock()
	}
}

// awaitZombie blocks until a child has ended, and does not reap it.
func awaitZombie(kind, id int) error {
	for {
		if err := unix.Waitid(kind, id, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return err
		}
	}
}
