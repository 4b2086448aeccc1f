//go:build unix && !linux

package proc

import (
	"os"
	"sync"
	"syscall"
)

func sysProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func adoptOrphans() {}

// wait waits for the first process, and locks mu when that is reaped: between
// the two, the id of an emptied group might be given away.
func wait(first *os.Process, mu *sync.Mutex) (syscall.WaitStatus, error) {
	state, err := first.Wait()
	mu.Lock()
	if err != nil {
		return 0, err
	}
	return state.Sys().(syscall.WaitStatus), nil
}
