package realserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	pauseSignal  = syscall.SIGSTOP
	resumeSignal = syscall.SIGCONT
)

// dieWithParent has the kernel kill the server when the test process dies.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// stopped reports that no thread of a process runs any more: the signal takes
// a while to reach them all.
func stopped(pid int) bool {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid)) // the pattern is sound
	for _, task := range tasks {
		if b, err := os.ReadFile(task); err == nil && !strings.Contains(string(b), "\nState:\tT") {
			return false
		}
	}
	return true
}
