//go:build unix && !linux

package realserver

import "syscall"

const (
	pauseSignal  = syscall.SIGSTOP
	resumeSignal = syscall.SIGCONT
)

// dieWithParent has no equivalent of Linux's death signal here: a server
// outlives a test process that is killed.
func dieWithParent() *syscall.SysProcAttr { return nil }

// stopped cannot be told here, and is taken for granted.
func stopped(int) bool { return true }
