//go:build !linux

package guard

import (
	"os"
	"syscall"
)

// rename does nothing: a process has the name of its file.
func rename() {}

func jobAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

const receiveFlags = 0

// self returns the path of this program's file.
func self() (string, error) { return os.Executable() }

// awaitEnd does nothing: here, waiting for a child also reaps it, which the caller does.
func awaitEnd(int) {}
