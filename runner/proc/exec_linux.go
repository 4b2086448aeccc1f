package proc

import (
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithGuard has this process killed when its parent dies, if that is the
// guard of the given leaderrun, which is the guard's parent. The first process
// of a job was started so, but what the kernel remembers of that is a property
// of the thread, and the thread that is about to exec is another than the first
// one. (In a pid namespace leaderrun is not to be seen, and its guard is init,
// without which nothing lives on.)
func dieWithGuard(leaderrun int) {
	guard := os.Getppid()
	if p, err := readProcess(guard); err != nil || p.parent != leaderrun {
		return
	}
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0) // cannot fail
	if os.Getppid() != guard {                                               // it died just now
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}
