package main

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/program/threads"
)

// The children forked here continue without exec, because hundreds of Go programs would
// load the machine, not leaderrun. Such a child can only make system calls, and their
// arguments are prepared before the fork.

const (
	daemons = 200 // that a crowd has
	stamps  = 16  // one of so many writes down that it lives
)

// crowd leaves daemons behind, each in its own session, which do nothing. They inherit the
// file of our life.
//
//go:norace
func crowd() (int, error) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	e, life, err := begin("child")
	if err != nil {
		return 0, err
	}
	if err := life.End(); err != nil {
		return 0, err
	}
	f, err := os.OpenFile(e.Life, os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	fd, pause := f.Fd(), &unix.Timespec{Nsec: 100_000_000}
	now, last := &unix.Timespec{}, new(int64)
	clocks := [...]int64{unix.CLOCK_MONOTONIC_RAW: 1, unix.CLOCK_BOOTTIME: 1, unix.CLOCK_MONOTONIC: -1}
	ahead := int64(trace.Ahead())
	runtime.LockOSThread()
	for n := range daemons {
		pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			break // that many are also a crowd
		}
		if pid != 0 {
			continue
		}
		syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0)
		if pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0); pid != 0 || errno != 0 {
			syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		}
		for n%stamps != 0 {
			syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
		}
		for {
			*last = -ahead // and the boot clock, as package clock reads it
			for id, sign := range clocks {
				syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, uintptr(id), uintptr(unsafe.Pointer(now)), 0)
				*last += sign * (now.Sec*1e9 + now.Nsec)
			}
			syscall.RawSyscall6(syscall.SYS_PWRITE64, fd, uintptr(unsafe.Pointer(last)), 8, 8, 0, 0)
			syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(pause)), 0, 0)
		}
	}
	runtime.KeepAlive(f)
	return 0, nil // those between are the guard's to reap
}

const workers = 40 // that a pool has at a time

// pool runs workers, each for a second, and tries again when it cannot start another one.
//
//go:norace
func pool() (int, error) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	threads.Reserve(threads.OfCore)
	if _, _, err := begin("child"); err != nil {
		return 0, err
	}
	works, pause := &unix.Timespec{Sec: 1}, &unix.Timespec{Nsec: 2_000_000}
	runtime.LockOSThread()
	for n := 0; ; {
		for n > 0 {
			pid, _, errno := syscall.RawSyscall6(syscall.SYS_WAIT4, ^uintptr(0), 0, syscall.WNOHANG, 0, 0, 0)
			if pid == 0 || errno != 0 {
				break
			}
			n--
		}
		if n < workers {
			switch pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0); {
			case errno != 0: // it is to be had later
			case pid == 0:
				syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(works)), 0, 0)
				syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
			default:
				n++
			}
		}
		syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(pause)), 0, 0)
	}
}
