package helper

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// A process is a running helper and our ends of its pipes.
type process struct {
	name   string
	child  child
	input  *pipe
	stdout *os.File
	stderr *os.File
	exited chan struct{} // closed when it has been reaped

	end string // how it ended, after exited

	mu     sync.Mutex
	reaped bool
}

// A pipe is one, with both of its ends. We keep the end that a helper reads from, so
// that another can read from it after that one, whoever else has the end to write to.
type pipe struct{ r, w *os.File }

func newPipe() (*pipe, error) {
	r, w, err := os.Pipe()
	return &pipe{r, w}, err
}

// close closes both ends. It may be called twice, and with nil.
func (p *pipe) close() {
	if p != nil {
		_ = p.r.Close()
		_ = p.w.Close()
	}
}

// startProcess starts a program with three pipes, an environment and nothing else
// of ours: no terminal, and no arguments, which others could read, but to ask for its
// version. Input is the first of the pipes; nil: a new one.
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
	child, err := spawn(path, append([]string{name}, args...), env, [3]*os.File{stdin.r, stdout.w, stderr.w})
	if err != nil {
		return nil, err
	}
	_, _ = stdout.w.Close(), stderr.w.Close()
	p = &process{name: name, child: child, input: stdin, stdout: stdout.r, stderr: stderr.r, exited: make(chan struct{})}
	go p.reap()
	return p, nil
}

// environment is a helper's: ours, without what a service manager such as
// systemd told us, and no other process, about how to speak with it. A helper
// waits for its network most of the time. One thread that runs Go is enough, and
// saves it the handing over between threads.
func environment() []string {
	ours := []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return slices.Contains(ours, key)
	})
	return append(env, "GOMAXPROCS=1")
}

// reap waits for the end of the process. What it wrote can still be read then,
// but a process that it left behind may hold the pipes open: that is not
// waited for.
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
		p.child.killGroup()
	}
}

// is reports whether a process id is this one's. Once that has ended it is not, and may
// be anybody's.
func (p *process) is(pid int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.reaped && p.child.pid == pid
}

// discard ends a process to which nothing was said.
func (p *process) discard() {
	p.input.close()
	p.kill()
	<-p.exited
	p.closeOutput()
}

// exitError says how the process ended, after exited.
func (p *process) exitError(lastLines string) error {
	s := fmt.Sprintf("%s ended (%s)", p.name, p.end)
	if lastLines != "" {
		s += ": " + lastLines
	}
	return errors.New(s)
}
