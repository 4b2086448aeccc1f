package guard

import (
	"os"
	"syscall"
)

// rename gives us a name that "pkill -KILL leaderrun" does not match, so that we are left to
// end the job. Otherwise the name would be "exe", because we were started from /proc.
func rename() {
	if f, err := os.OpenFile("/proc/self/comm", os.O_WRONLY, 0); err == nil {
		_, _ = f.WriteString("lr-guard")
		_ = f.Close()
	}
}

// jobAttr returns how to start a job: in its own group, and so that the kernel kills it if
// its guard dies.
func jobAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
