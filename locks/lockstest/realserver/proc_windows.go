package realserver

import (
	"syscall"
	"testing"
)

// Windows cannot pause a process: a test that tries fails.
const (
	pauseSignal  = syscall.Signal(0x13)
	resumeSignal = syscall.Signal(0x12)
)

func dieWithParent() *syscall.SysProcAttr { return nil }

// stopped cannot be told here, and is taken for granted.
func stopped(int) bool { return true }

// reserve leaves it to chance that no other test has the same port.
func reserve(testing.TB, int) bool { return true }
