//go:build unix

package proc

import (
	"errors"
	"os"
	"syscall"
)

// Exec replaces this process by a command, as execvp(3) would. It returns only
// if that fails, with a *[StartError]. If we are the first process of the job of
// the leaderrun with the given process id, so is the command: it dies with its guard.
func Exec(c Command, leaderrun int) error {
	dieWithGuard(leaderrun)
	err := syscall.Exec(c.Path, c.Args, c.Env)
	if errors.Is(err, syscall.ENOEXEC) {
		err = syscall.Exec("/bin/sh", append([]string{"/bin/sh", c.Path}, c.Args[1:]...), c.Env)
	}
	return NewStartError(c.Path, err)
}

// Spawn starts a process as execvp(3) would: what the kernel does not know how
// to execute is a script for the shell. Its standard streams are ours, but for
// NoInput. It does without package os, which would first fork another process to
// learn whether the kernel's pidfds work: that takes half a millisecond.
func Spawn(c Command, sys *syscall.SysProcAttr) (pid int, err error) {
	files := []uintptr{0, 1, 2}
	if c.NoInput {
		null, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return 0, err
		}
		defer func() { _ = syscall.Close(null) }()
		files[0] = uintptr(null)
	}
	attr := &syscall.ProcAttr{Env: c.Env, Files: files, Sys: sys}
	pid, _, err = syscall.StartProcess(c.Path, c.Args, attr)
	if errors.Is(err, syscall.ENOEXEC) {
		pid, _, err = syscall.StartProcess("/bin/sh", append([]string{"/bin/sh", c.Path}, c.Args[1:]...), attr)
	}
	return pid, err
}

// ExitOf is how a process ended that was waited for.
func ExitOf(ws syscall.WaitStatus) Exit {
	if ws.Signaled() {
		return Exit{Signal: ws.Signal()}
	}
	return Exit{Code: ws.ExitStatus()}
}
