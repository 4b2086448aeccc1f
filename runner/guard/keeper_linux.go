package guard

import "syscall"

// jobAttr is how a job is started: in a group of its own, and killed by the
// kernel if its guard dies.
func jobAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
