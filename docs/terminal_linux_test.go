package docs

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// patience bounds what must happen at some time on a busy machine, such as the end of a
// backend's tests.
const patience = 4 * time.Minute

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// A terminal is a bash on a machine, with all its output.
type terminal struct {
	dir   string // for its files, and its path on the machine
	inner string
	name  string // the Markdown file, for errors
	in    io.WriteCloser
	ended chan error
	seen  int // how many bytes of the output are accounted for
	count int // of the commands that it was given
	busy  bool
	grace time.Duration // the wait for output after a command has ended
}

func (m *machine) terminal(t *testing.T, doc, name, wd string) *terminal {
	t.Helper()
	dir := filepath.Join(m.dir, "terminal-"+name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c := m.command("bash", "--noprofile", "--norc")
	c.Dir = "/"
	c.Stdout, c.Stderr = out, out
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(in, "cd %q\n", wd); err != nil {
		t.Fatal(err)
	}
	s := &terminal{dir: dir, inner: filepath.Join(insideDir, filepath.Base(dir)), name: doc, in: in, ended: make(chan error, 1)}
	go func(c *exec.Cmd) { s.ended <- c.Wait() }(c)
	t.Cleanup(func() {
		_ = c.Process.Kill() // its bash does not notice this, and ends with the machine
		<-s.ended
	})
	return s
}

// start gives it commands from a line of the file. If strict, the first command that
// fails is the last, and its line is reported.
func (s *terminal) start(line int, commands string, strict bool) error {
	if err := s.wait(); err != nil {
		return err
	}
	s.count++
	number := fmt.Sprint(s.count)
	if err := os.Mkdir(filepath.Join(s.dir, number), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.dir, number, s.name), []byte(strings.Repeat("\n", line-1)+commands+"\n"), 0o644); err != nil {
		return err
	}
	dir := filepath.Join(s.inner, number)
	file := filepath.Join(dir, s.name)
	text := fmt.Sprintf(". %[1]q </dev/null; echo >%[2]q/end\n", file, dir)
	if strict {
		text = fmt.Sprintf("set -e; trap 'echo \"$LINENO: exit status $?\" >%[2]q/failed' ERR; . %[1]q </dev/null; trap - ERR; set +e; echo >%[2]q/end\n", file, dir)
	}
	s.busy = true
	_, err := io.WriteString(s.in, text)
	return err
}

// running reports whether its commands are still running.
func (s *terminal) running() bool {
	if _, err := os.Stat(filepath.Join(s.dir, fmt.Sprint(s.count), "end")); err == nil {
		s.busy = false
	}
	return s.busy
}

// dead reports whether its bash has ended.
func (s *terminal) dead() bool {
	select {
	case err := <-s.ended:
		s.ended <- err
		return true
	default:
		return false
	}
}

// wait waits for the end of its commands. The error begins with the line.
func (s *terminal) wait() error {
	for end := time.Now().Add(patience); s.running(); time.Sleep(5 * time.Millisecond) {
		if s.dead() {
			why, _ := os.ReadFile(filepath.Join(s.dir, fmt.Sprint(s.count), "failed"))
			return fmt.Errorf("%s\n%s", strings.TrimSpace(string(why)), s.printed())
		}
		if time.Now().After(end) {
			return fmt.Errorf("no end after %v\n%s", patience, s.printed())
		}
	}
	return nil
}

// reaped matches what bash prints about a killed job.
var reaped = regexp.MustCompile(`(?m)^\S+: line \d+: +\d+ (Killed|Terminated|Hangup|Interrupt) .*\n`)

// printed returns the output that is not accounted for.
func (s *terminal) printed() string { return cleaned(s.raw()) }

func cleaned(raw []byte) string {
	return dated.ReplaceAllString(reaped.ReplaceAllString(string(raw), ""), "leaderrun: ")
}

// dated is what a message begins with only because this terminal is a file.
var dated = regexp.MustCompile(`(?m)^20\S+ \S+ leaderrun(\[\S+\])?: `)

func (s *terminal) raw() []byte {
	text, _ := os.ReadFile(filepath.Join(s.dir, "out"))
	return text[min(s.seen, len(text)):]
}

// skip accounts for all output.
func (s *terminal) skip() { s.seen += len(s.raw()) }

// await waits until exactly these lines have been printed, and returns them. Background
// processes may print them a little after the command has ended.
func (s *terminal) await(lines []string) (string, error) {
	want, end, ended := expect(lines), time.Now().Add(patience), false
	for {
		if !s.running() && !ended {
			ended, end = true, time.Now().Add(s.grace)
		}
		raw := s.raw()
		got := cleaned(raw)
		if want.MatchString(got) {
			s.seen += len(raw)
			return got, nil
		}
		if time.Now().After(end) || s.dead() {
			return "", fmt.Errorf("printed was\n%s\ninstead of\n%s", got, strings.Join(lines, "\n"))
		}
		time.Sleep(5 * time.Millisecond)
	}
}
