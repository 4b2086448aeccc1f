package testscripts

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/runner/terminal/terminaltest"
)

// A shell is an interactive bash, or another program, on its own terminal, in which a
// test types and reads.
type shell struct {
	t      *testing.T
	dir    string
	cmd    *exec.Cmd
	master *os.File
	done   chan struct{} // closed when the program has ended

	mu    sync.Mutex
	shown string        // everything that the terminal has shown
	more  chan struct{} // closed when there is more
	read  int           // how much of shown the test has read
}

// prompt is the prompt of the shell. Nothing else may look like it.
const prompt = `ok> `

// bash starts a shell in a directory with the programs of theirPrograms.
func bash(t *testing.T) *shell {
	t.Helper()
	s := onTerminal(t, "bash", "--norc", "--noprofile", "--noediting", "-i")
	s.expect(prompt)
	s.run("ulimit -c 0; set -b")
	return s
}

// onTerminal starts a program as the leader of the session of a terminal, as sshd does
// for "ssh -t".
func onTerminal(t *testing.T, name string, args ...string) *shell {
	t.Helper()
	t.Parallel()
	buildReleased(t)
	s := &shell{t: t, dir: t.TempDir(), more: make(chan struct{}), done: make(chan struct{})}
	writePrograms(t, s.dir)
	master, slave, err := terminaltest.Open()
	if err != nil {
		t.Fatal(err)
	}
	s.master = master
	s.resize(24)
	s.cmd = exec.Command("env", append([]string{name}, args...)...) // env(1) looks in the PATH below
	s.cmd.Dir = s.dir
	s.cmd.Env = []string{"HOME=" + s.dir, "PATH=" + released.Dir() + ":" + os.Getenv("PATH") + ":.", "TERM=vt100", "PS1=" + prompt, "LC_ALL=C",
		"LEADERRUN_CONFIG=" + os.DevNull, "LEADERRUN_FILE_DIR=" + filepath.Join(s.dir, "locks"), "LESS=-d", "EXINIT="}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	copied := make(chan struct{})
	go func() {
		_, _ = io.Copy(s, master)
		close(copied)
	}()
	go func() {
		_ = s.cmd.Wait()
		close(s.done)
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // the kernel hangs up on its children
		<-s.done
		_ = master.Close()
		<-copied
		if t.Failed() {
			t.Logf("the terminal has shown:\n%q", s.shown)
		}
	})
	return s
}

// writePrograms writes theirPrograms. A process that another test is just forking may
// have a file open for writing until its exec, and so prevent its execution.
func writePrograms(t *testing.T, dir string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	for file, text := range theirPrograms {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// Write receives what the terminal shows.
func (s *shell) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown += string(p)
	close(s.more)
	s.more = make(chan struct{})
	return len(p), nil
}

// key types something.
func (s *shell) key(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.master, text); err != nil {
		s.t.Fatal(err)
	}
}

const (
	ctrlC  = "\x03"
	ctrlD  = "\x04"
	ctrlZ  = "\x1a"
	ctrlBS = "\x1c"
)

// expect waits until the terminal shows a match, and returns its first group. The next
// call looks only at what follows.
func (s *shell) expect(pattern string) string {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	limit := time.After(patience)
	for {
		s.mu.Lock()
		m, more := re.FindStringSubmatchIndex(s.shown[s.read:]), s.more
		if m != nil {
			text := s.shown[s.read:]
			s.read += m[1]
			s.mu.Unlock()
			if len(m) > 2 {
				return text[m[2]:m[3]]
			}
			return text[m[0]:m[1]]
		}
		s.mu.Unlock()
		select {
		case <-more:
		case <-limit:
			s.t.Fatalf("the terminal does not show %q", pattern)
		}
	}
}

// run runs a command that ends by itself, and returns its output and its exit status.
func (s *shell) run(command string) string {
	s.t.Helper()
	s.key(command + "\n")
	return s.ends()
}

// ends waits for the shell's prompt, and returns what was printed until then, and the
// status of the last command.
func (s *shell) ends() string {
	s.t.Helper()
	out := s.expect(`(?s)(.*)` + prompt)
	s.key("echo '<'$?'>'\n")
	status := s.expect(`(?s)<(\d+)>.*` + prompt)
	_, out, _ = strings.Cut(out, "\n") // the command itself
	return strings.ReplaceAll(out, "\r", "") + status[:strings.IndexByte(status+">", '>')]
}

// is runs a command, and checks its output and status.
func (s *shell) is(command, want string) {
	s.t.Helper()
	if got := s.run(command); got != want {
		s.t.Errorf("%s: got %q, want %q", command, got, want)
	}
}

// soon waits until something is so, and reports whether it was in time.
func soon(is func() bool) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if is() {
			return true
		}
	}
	return false
}

// text waits until a file has whole lines in it, and returns them.
func (s *shell) text(name string) string {
	s.t.Helper()
	var b []byte
	if !soon(func() bool {
		var err error
		b, err = os.ReadFile(filepath.Join(s.dir, name))
		return err == nil && strings.HasSuffix(string(b), "\n")
	}) {
		s.t.Fatalf("no file %s", name)
	}
	return string(b)
}

// has reports whether a mode of the terminal is set, such as unix.ECHO.
func (s *shell) has(mode uint32) bool {
	s.t.Helper()
	var set bool
	s.control(func(fd int) error {
		modes, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		set = err == nil && modes.Lflag&mode != 0
		return err
	})
	return set
}

func (s *shell) resize(rows uint16) {
	s.t.Helper()
	size := &unix.Winsize{Row: rows, Col: 80}
	s.control(func(fd int) error { return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, size) })
}

func (s *shell) control(f func(fd int) error) {
	s.t.Helper()
	raw, err := s.master.SyscallConn()
	if err != nil {
		s.t.Fatal(err)
	}
	if failed := raw.Control(func(fd uintptr) { err = f(int(fd)) }); failed != nil || err != nil {
		s.t.Fatal(failed, err)
	}
}

// status waits for the program itself, and returns its exit status.
func (s *shell) status() int {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(patience):
		s.t.Fatal("the program has not ended")
	}
	return codeOf(s.cmd.ProcessState)
}

// await waits until a file has this text.
func (s *shell) await(name, want string) {
	s.t.Helper()
	got := ""
	if !soon(func() bool {
		b, _ := os.ReadFile(filepath.Join(s.dir, name))
		got = string(b)
		return got == want
	}) {
		s.t.Fatalf("%s is %q, want %q", name, got, want)
	}
}

// signal sends a signal to the process whose id is in a file.
func (s *shell) signal(name string, sig syscall.Signal) {
	s.t.Helper()
	if err := syscall.Kill(s.pid(name), sig); err != nil {
		s.t.Fatal(err)
	}
}

// pid returns the process id in a file.
func (s *shell) pid(name string) int {
	s.t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(s.text(name)))
	if err != nil {
		s.t.Fatal(err)
	}
	return pid
}

// signalLeaderrun sends a signal to the leaderrun whose guard is the parent of that
// process.
func (s *shell) signalLeaderrun(name string, sig syscall.Signal) {
	s.t.Helper()
	pid := parentOf(s.t, parentOf(s.t, s.pid(name)))
	if pid <= 1 { // a signal would go to our own group, or to init
		s.t.Fatalf("the guard of %s has lost its leaderrun", name)
	}
	if err := syscall.Kill(pid, sig); err != nil {
		s.t.Fatal(err)
	}
}

// foreground waits until that process's group has the terminal.
func (s *shell) foreground(name string) {
	s.t.Helper()
	s.foregroundIs(s.pid(name))
}

// isBack waits until the shell itself has the terminal again: the job that is being
// stopped could read what is typed before.
func (s *shell) isBack() {
	s.t.Helper()
	s.expect(prompt)
	s.foregroundIs(s.cmd.Process.Pid)
}

// isStopped waits until a process is stopped.
func (s *shell) isStopped(name string) {
	s.t.Helper()
	stat := ""
	if !soon(func() bool {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid(name)))
		stat = string(b)
		return strings.Contains(stat, ") T ")
	}) {
		s.t.Fatalf("not stopped: %s", stat)
	}
}

func (s *shell) foregroundIs(want int) {
	s.t.Helper()
	got := 0
	if !soon(func() bool {
		s.control(func(fd int) (err error) {
			got, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
			return err
		})
		return got == want
	}) {
		s.t.Fatalf("the foreground group is %d, want %d", got, want)
	}
}

// gone waits until the guard has reaped a process.
func (s *shell) gone(pid int) {
	s.t.Helper()
	if !soon(func() bool { return syscall.Kill(pid, 0) != nil }) {
		s.t.Fatalf("process %d is still there", pid)
	}
}

// continuing continues a process until it has written a file.
func (s *shell) continuing(pid, file string) {
	s.t.Helper()
	if !soon(func() bool {
		_, err := os.Stat(filepath.Join(s.dir, file))
		if err != nil {
			_ = syscall.Kill(s.pid(pid), syscall.SIGCONT) // may have ended since
		}
		return err == nil
	}) {
		s.t.Fatalf("no file %s", file)
	}
}

// parentOf returns the parent of a process.
func parentOf(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		t.Fatal(err)
	}
	return parent
}
