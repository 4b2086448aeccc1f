//go:build unix && !linux

package realserver

import (
	"syscall"
	"testing"
)

// The signals that freeze a process and let it go on.
const (
	PauseSignal  = syscall.SIGSTOP
	ResumeSignal = syscall.SIGCONT
)

// dieWithParent has no equivalent of Linux's death signal here: a server
// outlives a test process that is killed.
func dieWithParent(asNobody bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: credential(asNobody)}
}

// stopped cannot be told here, and is taken for granted.
func stopped(int) bool { return true }

// reserve leaves it to chance that no other test has the same port.
func reserve(testing.TB, int) bool { return true }
