package proc

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Exec replaces this process by a command, as execvp(3) does. It returns only if that fails,
// with a *[StartError]. If we are the first process of the job of the leaderrun with the
// given process id, so is the command: it dies with the guard.
func Exec(c Command, leaderrun int) error {
	dieWithGuard(leaderrun)
	err := syscall.Exec(c.Path, c.Args, c.Env)
	if errors.Is(err, syscall.ENOEXEC) {
		err = syscall.Exec("/bin/sh", append([]string{"/bin/sh", c.Path}, c.Args[1:]...), c.Env)
	}
	return NewStartError(c.Path, err)
}

// Spawn starts a process as execvp(3) does: if the kernel cannot execute the file, the shell
// runs it as a script. The process has our standard streams, except as NoInput says. Spawn
// does without package os, which would first fork another process to test the kernel's
// pidfds. That takes half a millisecond.
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

// spent marks a wait status, in a bit that the kernel does not use.
const spent = 1 << 16

// Wait calls wait4(2) for any child. It does not block.
func Wait(ws *syscall.WaitStatus) (pid int, err error) {
	var used syscall.Rusage
	pid, err = syscall.Wait4(-1, ws, syscall.WNOHANG|syscall.WUNTRACED, &used)
	if pid > 0 && ws.Signaled() && ws.Signal() == syscall.SIGKILL && usedUp(used) {
		*ws |= spent
	}
	return pid, err
}

// usedUp reports whether a process has used, more or less, all the CPU time of our limit.
// The kernel counts ticks for the limit, but measures what it reports. On a busy machine
// the two differ much.
func usedUp(used syscall.Rusage) bool {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CPU, &limit); err != nil {
		return false
	}
	total := time.Duration(used.Utime.Nano() + used.Stime.Nano())
	return total.Seconds() > float64(limit.Max)/2
}

// ExitOf returns the Exit of a process that has a wait status.
func ExitOf(ws syscall.WaitStatus) Exit {
	if ws.Signaled() {
		return Exit{Signal: ws.Signal(), Spent: ws&spent != 0}
	}
	return Exit{Code: ws.ExitStatus()}
}
