//go:build unix

package helper

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A child is a process that we started, by its id. It is not an os.Process:
// to start the first of those, package os forks another process, only to learn
// whether the kernel's pidfds work, and that takes half a millisecond.
type child struct{ pid int }

// spawn starts a program in a process group of its own: what a terminal sends
// to ours does not reach it.
func spawn(path string, argv, env []string, files [3]*os.File) (child, error) {
	attr := &syscall.ProcAttr{Env: env, Sys: &syscall.SysProcAttr{Setpgid: true}}
	for _, f := range files {
		attr.Files = append(attr.Files, f.Fd())
	}
	pid, _, err := syscall.StartProcess(path, argv, attr)
	if err != nil {
		return child{}, &os.PathError{Op: "fork/exec", Path: path, Err: err}
	}
	return child{pid}, nil
}

// killGroup kills all that is left of the child's process group.
func (c child) killGroup() { _ = unix.Kill(-c.pid, unix.SIGKILL) }

// wait reaps the child and says how it ended.
func (c child) wait() string {
	var ws syscall.WaitStatus
	err := error(syscall.EINTR)
	for errors.Is(err, syscall.EINTR) {
		_, err = syscall.Wait4(c.pid, &ws, 0, nil)
	}
	switch {
	case err != nil: // somebody else reaped it
		return "for an unknown reason"
	case ws.Signaled():
		return "signal: " + ws.Signal().String()
	default:
		return fmt.Sprintf("exit status %d", ws.ExitStatus())
	}
}
