//go:build !linux

package guard

import "syscall"

// rename does nothing: a process has the name of its file.
func rename() {}

func jobAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
