package testscripts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
)

// TestReleaseAsks checks that an answer on a terminal counts, and that no answer does not
// mean yes.
func TestReleaseAsks(t *testing.T) {
	s := bash(t)
	b := etcdtest.Start(t, etcdtest.Options{}).URL()
	s.run("leaderrun -b " + b + " -l x --id web1 -- sleep 1000 2>err &")
	s.run("leaderrun wait -b " + b + " -l x --for held")
	s.key("leaderrun release -b " + b + " -l x --force\n")
	s.expect(`held by web1`)
	s.expect(`Take it away\? \[y/N\] `)
	s.key("\n")
	s.expect(`lock "x" was not taken away`)
	s.ends()
	s.is("leaderrun status -b "+b+" -l x >/dev/null", "0")
	s.key("leaderrun release -b " + b + " -l x --force\n")
	s.expect(`Take it away\? \[y/N\] `)
	s.key("y\n")
	s.expect(`web1 lost lock "x"`)
	s.ends()
	if got := s.run("wait $!"); !strings.HasSuffix(got, "76") {
		t.Errorf("the holder ended with %q; want 76", got)
	}
	if got := s.text("err"); !strings.Contains(got, `leadership of "x" was lost and the job was stopped`) {
		t.Errorf("the holder printed %q", got)
	}
}

// TestReleaseTooLate checks that ending the question does not mean yes. While the
// question is on the screen another term may begin, even with the same holder name: that
// term must be left alone, and a message must say so.
func TestReleaseTooLate(t *testing.T) {
	s := bash(t)
	b := etcdtest.Start(t, etcdtest.Options{}).URL()
	asked := func() {
		t.Helper()
		s.key("leaderrun release -b " + b + " -l x --force\n")
		s.expect(`Take it away\? \[y/N\] `)
	}
	s.run("leaderrun -b " + b + " -l x --id web1 -- sleep 1000 2>err &")
	s.run("leaderrun wait -b " + b + " -l x --for held")
	asked()
	s.key(ctrlD)
	s.expect(`\r\nleaderrun: error: lock "x" was not taken away`)
	if got := s.ends(); !strings.HasSuffix(got, "1") {
		t.Errorf("after Ctrl-D: %q; want 1", got)
	}
	asked()
	s.key(ctrlC)
	if got := s.ends(); !strings.HasSuffix(got, "130") {
		t.Errorf("after Ctrl-C: %q; want 130", got)
	}

	s.run("leaderrun -b " + b + " -l x --id web1 --events next -- sleep 1000 &")
	s.text("next") // the next run waits
	s.run("mkfifo go; { read <go; leaderrun release -b " + b + " -l x --force --yes; } >said 2>&1 &")
	asked()
	if err := os.WriteFile(filepath.Join(s.dir, "go"), []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	s.text("said")
	s.key("y\n")
	s.expect(`leaderrun: error: lock "x": the term of web1 with token \d+ has already ended; web1 holds the lock now with token \d+, and keeps it`)
	if got := s.ends(); !strings.HasSuffix(got, "75") {
		t.Errorf("exit status %q; want 75", got)
	}
	if got := s.run("leaderrun status -b " + b + " -l x >/dev/null"); !strings.HasSuffix(got, "0") {
		t.Errorf("the next term was not left alone: %q", got)
	}
}
