//go:build !linux

package realserver

import (
	"syscall"
	"testing"
)

// dieWithParent does nothing here: this system has no equivalent of Linux's death signal.
// A server outlives a test process that is killed.
func dieWithParent(asNobody bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: credential(asNobody)}
}

// stopped returns true, because this system does not report it.
func stopped(int) bool { return true }

// reserve does nothing: two tests may get the same port by chance.
func reserve(testing.TB, int) bool { return true }
