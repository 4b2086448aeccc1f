package realserver

import (
	"syscall"
	"testing"
)

// The signals that freeze a process and let it go on, elsewhere: Windows cannot pause
// one, and a test that tries fails.
const (
	PauseSignal  = syscall.Signal(0x13)
	ResumeSignal = syscall.Signal(0x12)
)

func dieWithParent(bool) *syscall.SysProcAttr { return nil }

// Yield does nothing: the server is of the same user.
func Yield(testing.TB, ...string) {}

// stopped cannot be told here, and is taken for granted.
func stopped(int) bool { return true }

// reserve leaves it to chance that no other test has the same port.
func reserve(testing.TB, int) bool { return true }
