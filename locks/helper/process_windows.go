package helper

import "syscall"

// sysProcAttr gives the helper a process group of its own, which the console's
// Ctrl-C does not reach.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func (p *process) killGroup() { _ = p.os.Kill() }
