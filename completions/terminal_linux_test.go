package completions

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/runner/terminal/terminaltest"
)

// patience is how long a test waits for a shell.
const patience = time.Minute

// prompt is the prompt of the shells.
const prompt = "ok> "

// The keys that the shells' start files bind: to insert everything that a word can
// become, and to write the line to the file "report" and clear it.
const (
	tab    = "\t"
	all    = "\x18a"
	report = "\x18p"
)

// A shell runs on its own terminal, in which a test types.
type shell struct {
	t        *testing.T
	terminal *os.File
	pipe     *os.File
	reported *bufio.Reader // from the pipe

	mu     sync.Mutex
	shown  bytes.Buffer
	prompt chan struct{} // closed when the prompt was shown
}

// start starts a shell and waits for its prompt. Its start file, which the command names
// as rc, has the given text with the name of the report.
func start(t *testing.T, rc, format string, command ...string) *shell {
	t.Helper()
	dir := t.TempDir()
	s := &shell{t: t, prompt: make(chan struct{})}
	fifo := filepath.Join(dir, "report")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, rc), fmt.Appendf(nil, format, fifo), 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(fifo, os.O_RDWR|syscall.O_NONBLOCK, 0) // with O_RDWR it does not end
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pipe.Close() })
	s.pipe, s.reported = pipe, bufio.NewReader(pipe)

	master, slave := openTerminal(t)
	s.terminal = master
	for i, arg := range command {
		if arg == rc {
			command[i] = filepath.Join(dir, rc)
		}
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = here.path("home"), append(here.env(), "ZDOTDIR="+dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	shown := make(chan struct{})
	go func() {
		s.watch()
		close(shown)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // the kernel hangs up on the processes that it has started
		_ = cmd.Wait()
		master.Close()
		<-shown
		if t.Failed() {
			t.Logf("the terminal has shown:\n%s", &s.shown)
		}
	})
	select {
	case <-s.prompt:
	case <-shown:
		t.Fatal("the shell ended")
	case <-time.After(patience):
		t.Fatal("the shell does not prompt")
	}
	return s
}

// watch reads what the terminal shows, until it is closed.
func (s *shell) watch() {
	prompted := false
	for b := make([]byte, 4096); ; {
		n, err := s.terminal.Read(b)
		s.mu.Lock()
		s.shown.Write(b[:n])
		if !prompted && bytes.Contains(s.shown.Bytes(), []byte(prompt)) {
			prompted = true
			close(s.prompt)
		}
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// becomes types a line and a key, and returns the resulting line.
func (s *shell) becomes(line, key string) string {
	s.t.Helper()
	if _, err := s.terminal.WriteString(line + key + report); err != nil {
		s.t.Fatal(err)
	}
	if err := s.pipe.SetReadDeadline(time.Now().Add(patience)); err != nil {
		s.t.Fatal(err)
	}
	got, err := s.reported.ReadString('\n')
	if err != nil {
		s.t.Fatalf("%q: the shell does not report: %v", line, err)
	}
	return got[:len(got)-1]
}

// completes checks what Tab makes of lines.
func (s *shell) completes(cases [][2]string) {
	s.t.Helper()
	for _, c := range cases {
		if got := s.becomes(c[0], tab); got != c[1] {
			s.t.Errorf("%s\n got %q\nwant %q", c[0], got, c[1])
		}
	}
}

// openTerminal opens a new terminal that is wide enough for any line.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, slave, err := terminaltest.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 500}); err != nil {
		t.Fatal(err)
	}
	return master, slave
}
