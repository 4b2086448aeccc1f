package proc

import (
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWith has this process killed when the given parent dies. The first process
// of a job was started so, but what the kernel remembers of that is a property
// of the thread, and the thread that is about to exec is another than the first
// one.
func dieWith(parent int) {
	if os.Getppid() != parent {
		return
	}
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0) // cannot fail
	if os.Getppid() != parent {                                              // it died just now
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}
