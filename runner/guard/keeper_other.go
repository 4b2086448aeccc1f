//go:build unix && !linux

package guard

import "syscall"

func jobAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
