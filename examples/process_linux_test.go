package examples

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lockstest/programs"
)

// patience bounds what must happen at some time on a busy machine.
const patience = 3 * time.Minute

// A process was started by a test, and ends with the test.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	ended  chan struct{}
	stdout output
	stderr output
}

// An output may be read while it is being written.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start starts a command. Its environment gets only what keeps the race detector from
// waiting a second at each exit.
func start(t *testing.T, c *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: c, ended: make(chan struct{})}
	c.Env = append(c.Env, "GORACE=atexit_sleep_ms=0")
	c.Stdout, c.Stderr = &p.stdout, &p.stderr
	c.WaitDelay = patience // a process that was left behind may keep its output open
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.Wait() // its state is in ProcessState
		close(p.ended)
	}()
	t.Cleanup(p.stop)
	return p
}

// stop ends a process if it is running.
func (p *process) stop() {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		_ = p.cmd.Process.Signal(sig) // may have ended
		select {
		case <-p.ended:
			return
		case <-time.After(20 * time.Second):
		}
	}
}

// status waits for the end of a process, and returns its exit status as a shell shows it.
func (p *process) status() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("%s has not ended\n%s%s", p.cmd, &p.stdout, &p.stderr)
	}
	return programs.Status(p.cmd.ProcessState)
}

// exits checks the exit status.
func (p *process) exits(want int) {
	p.t.Helper()
	if got := p.status(); got != want {
		p.t.Fatalf("%s: exit status %d, want %d\n%s%s", p.cmd, got, want, &p.stdout, &p.stderr)
	}
}

// silent checks that nothing was printed, because cron would mail it.
func (p *process) silent() {
	p.t.Helper()
	if out := p.stdout.String() + p.stderr.String(); out != "" {
		p.t.Errorf("%s printed %q", p.cmd, out)
	}
}

// eventually polls until ok returns true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// program writes a shell script that stands in for a program.
func program(t *testing.T, dir, name, text string) {
	t.Helper()
	write(t, filepath.Join(dir, name), "#!/bin/sh\n"+text+"\n", 0o755)
}

func write(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, []byte(text), mode)
	}
	if err == nil {
		err = os.Chmod(file, mode) // whatever our umask
	}
	if err != nil {
		t.Fatal(err)
	}
}

// read returns the text of a file, or "" if it does not exist.
func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}
