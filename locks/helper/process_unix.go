//go:build unix

package helper

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// sysProcAttr gives the helper a process group of its own: what a terminal
// sends to ours does not reach it.
func sysProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills all that is left of the helper's process group.
func (p *process) killGroup() { _ = unix.Kill(-p.os.Pid, unix.SIGKILL) }
