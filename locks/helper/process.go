package helper

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/program/threads"
)

// A process is a running helper and our ends of its pipes.
type process struct {
	path   string
	name   string
	pid    int
	input  *pipe
	stdout *os.File
	stderr *os.File
	exited chan struct{} // closed when the process has been reaped

	end string // how the process ended, after exited

	mu     sync.Mutex
	reaped bool
}

// A pipe is both ends of a pipe. We keep the end that a helper reads from, so that
// another helper can read from it later, whichever processes have the end to write to.
type pipe struct{ r, w *os.File }

func newPipe() (*pipe, error) {
	r, w, err := os.Pipe()
	return &pipe{r, w}, err
}

// close closes both ends. It may be called twice, and on a nil pipe.
func (p *pipe) close() {
	if p != nil {
		_ = p.r.Close()
		_ = p.w.Close()
	}
}

// reuse returns the pipe for another program to read, without what the previous program
// left unread. That program must have ended.
func (p *pipe) reuse() *pipe {
	fd := int(p.r.Fd())
	_ = unix.SetNonblock(fd, true) // until the next program starts
	var unread [4 << 10]byte
	for {
		if n, err := unix.Read(fd, unread[:]); n < 1 && !errors.Is(err, unix.EINTR) {
			return p
		}
	}
}

// startProcess starts a program with three pipes, an environment and nothing else of
// ours: no terminal, and no arguments (which others could read) except to ask for its
// version. input is the first of the pipes; nil makes a new one.
func startProcess(path, name string, env []string, input *pipe, args ...string) (p *process, err error) {
	pipes := [3]*pipe{input}
	defer func() {
		for _, made := range pipes {
			if p == nil && made != input {
				made.close()
			}
		}
	}()
	for i := range pipes {
		if pipes[i] == nil {
			if pipes[i], err = newPipe(); err != nil {
				return nil, err
			}
		}
	}
	stdin, stdout, stderr := pipes[0], pipes[1], pipes[2]
	// This is not an os.Process, because package os forks another process to start the first
	// one, only to learn whether the kernel's pidfds work, and that takes half a millisecond.
	// In its own process group, signals from our terminal do not reach it.
	pid, _, err := syscall.StartProcess(path, append([]string{name}, args...), &syscall.ProcAttr{
		Env: env, Files: []uintptr{stdin.r.Fd(), stdout.w.Fd(), stderr.w.Fd()}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return nil, &os.PathError{Op: "fork/exec", Path: path, Err: threads.Refused(err)}
	}
	_, _ = stdout.w.Close(), stderr.w.Close()
	p = &process{path: path, name: name, pid: pid, input: stdin, stdout: stdout.r, stderr: stderr.r, exited: make(chan struct{})}
	go p.reap()
	return p, nil
}

// environment returns a helper's environment: ours, without what a service manager such
// as systemd has set for us alone. A helper waits for its network most of the time, so
// one thread that runs Go is enough, and saves switching between threads. The runtime takes the
// first value that it finds.
func environment() []string {
	ours := []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "GOMAXPROCS"}
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return slices.Contains(ours, key)
	})
	return append(env, "GOMAXPROCS=1")
}

// reap waits for the end of the process. Its output can still be read then. But a process
// that it left behind may hold the pipes open, so reap does not wait for their end.
func (p *process) reap() {
	p.await()
	close(p.exited)
	time.AfterFunc(drainTimeout, p.closeOutput)
}

func (p *process) closeOutput() {
	_ = p.stdout.Close()
	_ = p.stderr.Close()
}

// kill ends the process, and those that it started, at once.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		p.killGroup()
	}
}

// killGroup kills what is left of its process group.
func (p *process) killGroup() { _ = unix.Kill(-p.pid, unix.SIGKILL) }

// is reports whether pid is that of this process. Once the process has ended, its pid may
// belong to any other.
func (p *process) is(pid int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.reaped && p.pid == pid
}

// discard ends a process that nothing was sent to.
func (p *process) discard() {
	p.input.close()
	p.kill()
	<-p.exited
	p.closeOutput()
}

// exitError describes how the process ended, after exited.
func (p *process) exitError(lastLines string) error {
	s := fmt.Sprintf("%s ended (%s)", p.name, p.end)
	if lastLines != "" {
		s += ": " + lastLines
	}
	if threads.Aborted(lastLines) {
		return fmt.Errorf("%w: %s", threads.ErrOut, s)
	}
	return errors.New(s)
}

// wait reaps the process and returns how it ended.
func (p *process) wait() string {
	var ws syscall.WaitStatus
	err := error(syscall.EINTR)
	for errors.Is(err, syscall.EINTR) {
		_, err = syscall.Wait4(p.pid, &ws, 0, nil)
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
