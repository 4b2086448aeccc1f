package docs

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

func TestMain(m *testing.M) {
	// Files mostly wait; a machine with two cores can run many at once.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	syscall.Umask(0o022) // a reader's umask
	code := m.Run()
	_ = os.RemoveAll(installed.dir)
	os.Exit(code)
}

// TestDocs runs each command of README.md and of the files here.
func TestDocs(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, path := range append(files, "../README.md") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := run(t, filepath.Base(path), string(text), time.Minute); err != nil {
				t.Fatalf("%s:%v", path, err)
			}
		})
	}
}

// A reader follows one file literally.
type reader struct {
	t         *testing.T
	machine   *machine
	name, dir string // the file, and the directory in which its commands begin
	grace     time.Duration
	terminals map[string]*terminal
}

// run runs the commands of a file. An error begins with the line. Grace is the wait for
// output after a command has ended.
func run(t *testing.T, name, text string, grace time.Duration) error {
	all, err := blocks(text)
	if err != nil || len(all) == 0 {
		return err
	}
	if postgres := "/usr/lib/postgresql/15/bin"; strings.Contains(text, postgres) {
		if _, err := os.Stat(postgres); err != nil {
			realserver.Missing(t, "there is no PostgreSQL 15; Debian has it in postgresql-15")
		}
	}
	r := &reader{t: t, machine: newMachine(t), name: name, dir: home, grace: grace, terminals: map[string]*terminal{}}
	if name == "README.md" {
		r.dir = clone
	}
	for i := range all {
		if all[i].notRun != "" {
			t.Logf("%s:%d: not run: %s", name, all[i].line, all[i].notRun)
			continue
		}
		if err := r.do(&all[i]); err != nil {
			return err
		}
	}
	return r.end()
}

// do does what a block says.
func (r *reader) do(b *block) error {
	switch {
	case b.file != "":
		return r.strictly(b, put(b.file, b.text))
	case b.lang == "sh":
		return r.strictly(b, b.text)
	case b.lang == "console":
		return r.enter(b)
	case b.lang == "crontab":
		return r.cron(b)
	case b.lang == "yaml":
		return r.strictly(b, put("~/config.yaml", b.text)+" && leaderrun config show --config ~/config.yaml >/dev/null")
	case b.lang == "ini":
		if _, err := os.Stat("/usr/bin/systemd-analyze"); err != nil {
			realserver.Missing(r.t, "systemd-analyze is missing")
		}
		return r.strictly(b, put("~/unit.service", b.text)+" && systemd-analyze verify --man=no --recursive-errors=no ~/unit.service")
	case b.lang == "json":
		return valid(b)
	}
	return nil
}

// put returns the command that writes a file, on one line, so that the numbers of other
// lines do not change.
func put(file, text string) string {
	return "printf '%s\\n' " + strings.ReplaceAll(quote(text), "\n", `'$'\n''`) + " >" + file
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func valid(b *block) error {
	for i, l := range strings.Split(b.text, "\n") {
		if !json.Valid([]byte(l)) {
			return fmt.Errorf("%d: invalid JSON", b.line+i)
		}
	}
	return nil
}

func (r *reader) terminal(name string) *terminal {
	s := r.terminals[name]
	if s == nil {
		s = r.machine.terminal(r.t, r.name, "t"+name, r.dir)
		s.grace = r.grace
		r.terminals[name] = s
	}
	return s
}

// strictly runs commands, each of which must succeed.
func (r *reader) strictly(b *block, commands string) error {
	s := r.terminal(b.terminal)
	if s.running() {
		if err := r.over(s); err != nil {
			return err
		}
	}
	if err := s.start(b.line, commands, true); err != nil {
		return fmt.Errorf("%d: the command before this: %w", b.line, err)
	}
	if err := s.wait(); s.running() {
		return fmt.Errorf("%d: %w", b.line, err)
	} else if err != nil { // err begins with the line that failed
		return err
	}
	r.t.Logf("%s:%d: %s\n%s", r.name, b.line, b.text, s.printed())
	s.skip()
	return nil
}

// enter types commands, and compares their output.
func (r *reader) enter(b *block) error {
	s := r.terminal(b.terminal)
	for i, c := range b.console() {
		if c.command != "" {
			if err := s.start(c.line, c.command, false); err != nil {
				return fmt.Errorf("%d: the command before this: %w", c.line, err)
			}
		}
		if i < len(b.console())-1 || b.goesOn == "" {
			if err := s.wait(); err != nil {
				return fmt.Errorf("%d: %w", c.line, err)
			}
		}
		printed, err := s.await(c.prints)
		if err != nil {
			return fmt.Errorf("%d: %w", c.line, err)
		}
		r.t.Logf("%s:%d: $ %s\n%s", r.name, c.line, c.command, printed)
	}
	return nil
}

var cronLine = regexp.MustCompile(`^(?:@\w+|(?:\S+\s+){4}\S+)\s+(.*)$`)

// cron runs the commands of a crontab as cron would.
func (r *reader) cron(b *block) error {
	env := `HOME="$HOME" LOGNAME="$LOGNAME" SHELL=/bin/sh PATH=/usr/bin:/bin`
	for i, l := range strings.Split(b.text, "\n") {
		name, value, _ := strings.Cut(l, "=")
		m := cronLine.FindStringSubmatch(l)
		one := *b
		one.line = b.line + i
		switch {
		case l == "" || l[0] == '#':
		case regexp.MustCompile(`^[A-Z_]+$`).MatchString(name):
			env += " " + name + "=" + quote(value)
		case m == nil || strings.Contains(m[1], "%"):
			return fmt.Errorf("%d: not a line of a crontab that can be run", one.line)
		default:
			if err := r.strictly(&one, "env -i "+env+" sh -c "+quote(m[1])); err != nil {
				return err
			}
		}
	}
	return nil
}

// end checks that everything has ended, and that nothing was printed that is not in the
// file.
func (r *reader) end() error {
	for name, s := range r.terminals {
		if err := r.over(s); err != nil {
			return fmt.Errorf("terminal %q, at the end: %w", name, err)
		}
	}
	return nil
}

// over waits for the end of a command that was still running, and checks that there is no
// more output.
func (r *reader) over(s *terminal) error {
	if err := s.wait(); err != nil {
		return err
	}
	_, err := s.await(nil)
	return err
}
