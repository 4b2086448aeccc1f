// Package proctest has jobs for tests that are hard to kill. This is a package of its own
// because benchmarks use them, too.
package proctest

import (
	"runtime"
	"syscall"
	"unsafe"
)

// Relay is a chain of processes: each forks the next, in its own session, and ends 200 µs
// later. It makes raw system calls, because a fork has no Go runtime. It does not return.
//
//go:norace
func Relay() {
	runtime.LockOSThread()
	pause := syscall.Timespec{Nsec: 200_000}
	for {
		pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		if pid != 0 || errno != 0 {
			_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		}
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0)
		_, _, _ = syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&pause)), 0, 0)
	}
}
