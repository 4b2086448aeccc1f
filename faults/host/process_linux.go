package host

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// A Process is one process, and never a later one with the same id. The zero Process is
// no process.
type Process struct {
	PID     int
	started uint64 // as in proc(5)
}

// At is the process that has an id now; the zero Process if there is none.
func At(pid int) Process {
	if pid <= 1 { // kill(2) means groups, or all processes
		return Process{}
	}
	started := proc.Started(pid)
	if started == 0 {
		return Process{}
	}
	return Process{PID: pid, started: started}
}

// ErrGone says that a process has ended, and been waited for.
var ErrGone = errors.New("the process is gone")

// check says whether the id is still this process's.
func (p Process) check() error {
	if p.PID <= 1 || p.started == 0 || proc.Started(p.PID) != p.started {
		return ErrGone
	}
	return nil
}

// signal signals the process. It opens the process before it checks its identity, so
// that the id cannot pass to another process in between.
func (p Process) signal(sig unix.Signal) error {
	if p.PID <= 1 {
		return ErrGone
	}
	fd, err := unix.PidfdOpen(p.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return ErrGone
	} else if err != nil {
		return os.NewSyscallError("pidfd_open", err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := p.check(); err != nil {
		return err
	}
	if err = unix.PidfdSendSignal(fd, sig, nil, 0); errors.Is(err, unix.ESRCH) {
		return ErrGone
	}
	return os.NewSyscallError("pidfd_send_signal", err)
}

// Signal signals a process of the host. A stop is undone when the test ends.
func (h *Host) Signal(p Process, sig unix.Signal) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch sig {
	case unix.SIGSTOP, unix.SIGTSTP:
		h.stopped[p] = true
	case unix.SIGCONT, unix.SIGKILL:
		delete(h.stopped, p)
	}
	return p.signal(sig)
}

// limits are what a process had.
type limits = unix.Rlimit

// ExhaustFiles leaves a process no descriptor for another file, until RestoreFiles.
// It sets the limit to the lowest free number, because a limit bounds numbers, and there
// may be gaps between them. If the process closes a file it can open another.
func (h *Host) ExhaustFiles(p Process) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := p.check(); err != nil {
		return err
	}
	free, err := lowestFree(p.PID)
	if err != nil {
		return err
	}
	var old limits
	if err := unix.Prlimit(p.PID, unix.RLIMIT_NOFILE, nil, &old); err != nil {
		return os.NewSyscallError("prlimit", err)
	}
	if _, ok := h.limits[p]; !ok {
		h.limits[p] = old
	}
	return p.limit(limits{Cur: free, Max: old.Max})
}

// RestoreFiles ends ExhaustFiles. A process that has ended is not an error.
func (h *Host) RestoreFiles(p Process) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	old, ok := h.limits[p]
	if !ok || p.check() != nil {
		return nil
	}
	delete(h.limits, p)
	return p.limit(old)
}

func (p Process) limit(l limits) error {
	if err := p.check(); err != nil {
		return err
	}
	return os.NewSyscallError("prlimit", unix.Prlimit(p.PID, unix.RLIMIT_NOFILE, &l, nil))
}

// lowestFree is the number that the next file of a process would have.
func lowestFree(pid int) (uint64, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return 0, err
	}
	taken := map[string]bool{}
	for _, e := range entries {
		taken[e.Name()] = true
	}
	n := uint64(0)
	for taken[strconv.FormatUint(n, 10)] {
		n++
	}
	return n, nil
}
