package etcdtest

import "syscall"

// Windows cannot pause a process: a test that tries fails.
const (
	pauseSignal  = syscall.Signal(0x13)
	resumeSignal = syscall.Signal(0x12)
)

func dieWithParent() *syscall.SysProcAttr { return nil }
