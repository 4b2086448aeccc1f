package realserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// dieWithParent makes the kernel kill the server when the test process dies.
func dieWithParent(asNobody bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: credential(asNobody)}
}

// stopped reports whether no thread of a process runs any more: the signal takes a while
// to reach all threads.
func stopped(pid int) bool {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid)) // the pattern is valid
	for _, task := range tasks {
		if b, err := os.ReadFile(task); err == nil && !strings.Contains(string(b), "\nState:\tT") {
			return false
		}
	}
	return true
}

// reserve takes a port for a test, and reports whether no other test has it. For each
// port there is one abstract socket, in the same network namespace as the port, which
// ends with the test process at the latest.
func reserve(tb testing.TB, port int) bool {
	tb.Helper()
	l, err := net.Listen("unix", fmt.Sprintf("@leaderrun-test-%d", port))
	if err == nil {
		tb.Cleanup(func() { _ = l.Close() })
	}
	return !errors.Is(err, syscall.EADDRINUSE)
}
