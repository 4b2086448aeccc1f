package proc

import (
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithGuard arranges that this process is killed when its parent dies, if its parent is
// the guard of the given leaderrun, which is the guard's parent. The first process of a job
// was started with a parent-death signal, but that belongs to a thread, and the thread that
// calls exec is not the first one. (In a pid namespace we cannot see leaderrun, but there
// the guard is init, and the kernel kills everything when init dies.)
func dieWithGuard(leaderrun int) {
	guard := os.Getppid()
	if p, err := readProcess(guard); err != nil || p.parent != leaderrun {
		return
	}
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0) // cannot fail
	if os.Getppid() != guard {                                               // the guard has died meanwhile
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}
