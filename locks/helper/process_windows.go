package helper

import (
	"os"
	"syscall"
)

// A child is a process that we started.
type child struct {
	pid int
	os  *os.Process
}

// spawn starts a program in its own process group, which the console's Ctrl-C does not
// reach.
func spawn(path string, argv, env []string, files [3]*os.File) (child, error) {
	p, err := os.StartProcess(path, argv, &os.ProcAttr{
		Env: env, Files: files[:], Sys: &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP},
	})
	if err != nil {
		return child{}, err
	}
	return child{p.Pid, p}, nil
}

func (c child) killGroup() { _ = c.os.Kill() }

// wait reaps the child and returns how it ended.
func (c child) wait() string {
	state, err := c.os.Wait()
	if err != nil {
		return "for an unknown reason"
	}
	return state.String()
}
