package testscripts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// These tests are about jobs that manage the terminal themselves, and about a terminal
// that goes away.

// TestTerminalShell runs a shell as the job, which controls its own jobs.
func TestTerminalShell(t *testing.T) {
	under(t, func(t *testing.T, s *shell, w string) {
		s.key("PS1='in> ' " + w + "bash --norc --noprofile --noediting -i\n")
		s.expect(`\nin> `)
		s.key("plain\n")
		s.expect("ready")
		s.key(ctrlZ)
		s.expect("Stopped")
		s.expect("in> ")
		s.key("fg\n")
		s.expect("plain")
		s.key("one\n")
		s.expect("heard <one>")
		s.key(ctrlC)
		s.expect("in> ")
		s.key("set -b; plain &\n")
		s.expect("(?s)ready.*Stopped") // as it reads
		s.key("fg\n")
		s.expect("plain")
		s.key("two\n")
		s.expect("heard <two>")
		s.key(ctrlC)
		s.expect("in> ")
		s.key("exit 4\n")
		if got := s.ends(); !strings.HasSuffix(got, "4") {
			t.Errorf("got %q, want the status 4", got)
		}
		s.is("echo here", "here\n0")
	})
}

// TestTerminalNested runs a leaderrun as the job, with another lock: keys and stops must
// reach its job, and stop everything above it.
func TestTerminalNested(t *testing.T) {
	under(t, func(t *testing.T, s *shell, w string) {
		s.key(w + "leaderrun -l y -- plain\n")
		s.expect("ready")
		for _, word := range []string{"one", "two"} {
			s.key(ctrlZ)
			s.expect(`\[1\]\+  Stopped`)
			s.isBack()
			s.is("echo here", "here\n0")
			s.key("fg\n")
			s.expect("plain")
			s.key(word + "\n")
			s.expect("heard <" + word + ">")
		}
		s.key(ctrlC)
		if got := s.ends(); !strings.HasSuffix(got, "130") {
			t.Errorf("got %q, want the status 130", got)
		}
		s.is("jobs", "0")
	})
}

// TestTerminalNohup checks that a run under nohup(1) outlives its terminal.
func TestTerminalNohup(t *testing.T) {
	under(t, func(t *testing.T, s *shell, w string) {
		if strings.HasPrefix(w, "timeout") {
			t.Skip("timeout obeys a hang-up that it was started to ignore")
		}
		s.run("nohup " + w + "sh -c 'echo on >on; until test -e end; do sleep 0.02; done; echo over >over' &")
		s.text("on")
		_ = s.master.Close()
		s.status() // the shell's status: it got the hang-up
		if err := os.WriteFile(filepath.Join(s.dir, "end"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s.text("over")
	})
}
