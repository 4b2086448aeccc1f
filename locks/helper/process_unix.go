//go:build unix

package helper

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/program/threads"
)

// A child is a process that we started, by its id. It is not an os.Process, because
// package os forks another process to start the first one, only to learn whether the
// kernel's pidfds work, and that takes half a millisecond.
type child struct{ pid int }

// spawn starts a program in its own process group, which signals from our terminal do not
// reach.
func spawn(path string, argv, env []string, files [3]*os.File) (child, error) {
	attr := &syscall.ProcAttr{Env: env, Sys: &syscall.SysProcAttr{Setpgid: true}}
	for _, f := range files {
		attr.Files = append(attr.Files, f.Fd())
	}
	pid, _, err := syscall.StartProcess(path, argv, attr)
	if err != nil {
		return child{}, &os.PathError{Op: "fork/exec", Path: path, Err: threads.Refused(err)}
	}
	return child{pid}, nil
}

// killGroup kills what is left of the child's process group.
func (c child) killGroup() { _ = unix.Kill(-c.pid, unix.SIGKILL) }

// wait reaps the child and returns how it ended.
func (c child) wait() string {
	var ws syscall.WaitStatus
	err := error(syscall.EINTR)
	for errors.Is(err, syscall.EINTR) {
		_, err = syscall.Wait4(c.pid, &ws, 0, nil)
	}
	switch {
	case err != nil: // another caller reaped it
		return "for an unknown reason"
	case ws.Signaled():
		return "signal: " + ws.Signal().String()
	default:
		return fmt.Sprintf("exit status %d", ws.ExitStatus())
	}
}
