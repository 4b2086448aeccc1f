// Package proctest has jobs that are hard to kill, for tests.
package proctest

import (
	"runtime"
	"syscall"
	"unsafe"
)

// Relay is never the same process for long: each forks the next, in a session of
// its own, and ends 200 µs later. It is made of raw system calls, as a fork has
// no Go runtime. It does not return.
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
