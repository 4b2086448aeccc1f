package realserver

import "syscall"

// Windows cannot pause a process: a test that tries fails.
const (
	pauseSignal  = syscall.Signal(0x13)
	resumeSignal = syscall.Signal(0x12)
)

func dieWithParent() *syscall.SysProcAttr { return nil }

// stopped cannot be told here, and is taken for granted.
func stopped(int) bool { return true }
