//go:build unix && !linux

package guard

import "syscall"

// rename does nothing: a process is called as its file is.
func rename() {}

func jobAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
