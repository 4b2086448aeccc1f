package main

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// headless continues in other threads and ends the first one, so that we look like a
// zombie.
func headless(rest func() (int, error)) (int, error) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() { // so that it is the first one
		return 0, syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	}
	go func() { end(rest()) }()
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
	panic("a thread has outlived its end")
}

// nobody is a user with few rights.
const nobody = 65534

// hide is what /proc hides from its parent: a program with the set-user-ID bit of
// another user.
func hide() (int, error) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	if _, _, err := begin("child"); err != nil {
		return 0, err
	}
	if err := syscall.Setresuid(-1, nobody, nobody); err != nil {
		return 0, err
	}
	select {}
}

// flap stops and continues its parent, again and again.
func flap() (int, error) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	parent, err := unix.PidfdOpen(os.Getppid(), 0)
	if err != nil {
		return 0, err
	}
	if _, _, err := begin("child"); err != nil {
		return 0, err
	}
	for sig := unix.SIGSTOP; err == nil; time.Sleep(10 * time.Millisecond) {
		err = unix.PidfdSendSignal(parent, sig, nil, 0)
		sig = unix.SIGSTOP + unix.SIGCONT - sig
	}
	select {}
}
