package signals

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// dumpNoCore keeps the kernel from dumping a core. The limit alone does not, if
// /proc/sys/kernel/core_pattern names a program.
func dumpNoCore() {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}

// raise returns only if the signal has not ended us. A signal to this thread acts before the
// system call returns.
func raise(s syscall.Signal, group bool) {
	runtime.LockOSThread()
	ByDefault(s, func() {
		if group {
			_ = unix.Kill(0, s)
		}
		_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), s)
	})
}
