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
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	exited chan struct{} // closed when it has been reaped

	end string // how it ended, after exited

	mu     sync.Mutex
	reaped bool
}

// startProcess starts a program with three pipes, an environment and nothing else
// of ours: no terminal, and no arguments, which others could read, but to ask for its
// version.
func startProcess(path, name string, env []string, args ...string) (*process, error) {
	var ours, theirs [3]*os.File
	closeAll := func(files []*os.File) {
		for _, f := range files {
			_ = f.Close() // nil is fine
		}
	}
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours[:])
			closeAll(theirs[:])
			return nil, err
		}
		ours[i], theirs[i] = r, w
		if i == 0 {
			ours[i], theirs[i] = w, r
		}
	}
	child, err := spawn(path, append([]string{name}, args...), env, theirs)
	closeAll(theirs[:])
	if err != nil {
		closeAll(ours[:])
		return nil, err
	}
	p := &process{name: name, child: child, stdin: ours[0], stdout: ours[1], stderr: ours[2], exited: make(chan struct{})}
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

// discard ends a process to which nothing was said.
func (p *process) discard() {
	_ = p.stdin.Close()
	p.kill()
	<-p.exited
	p.closeOutput()
}

// epitaph says how the process ended, after exited.
func (p *process) epitaph(lastWords string) error {
	s := fmt.Sprintf("%s ended (%s)", p.name, p.end)
	if lastWords != "" {
		s += ": " + lastWords
	}
	return errors.New(s)
}
