package realserver

import (
	"syscall"
	"testing"
)

// The signals that freeze a process and let it continue, elsewhere: Windows cannot pause
// one, so a test that tries fails.
const (
	PauseSignal  = syscall.Signal(0x13)
	ResumeSignal = syscall.Signal(0x12)
)

func dieWithParent(bool) *syscall.SysProcAttr { return nil }

// Yield does nothing: the server runs as the same user.
func Yield(testing.TB, ...string) {}

// stopped returns true, because this system does not report it.
func stopped(int) bool { return true }

// reserve does nothing: two tests may get the same port by chance.
func reserve(testing.TB, int) bool { return true }
