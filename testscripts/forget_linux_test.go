package testscripts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestForgetAsks checks that the question on a terminal shows what would be forgotten,
// that held locks are not part of it, and that no answer does not mean yes.
func TestForgetAsks(t *testing.T) {
	s := bash(t)
	s.run("export NO_COLOR=1")
	s.run("leaderrun -l nightly --id web1 --once-per week -- true")
	s.run("leaderrun -l jobs --slots 2 -- true")
	s.run("leaderrun -l web --id web2 -- sleep 1000 &")
	s.run("leaderrun wait -l web --for held")

	s.key("leaderrun forget nightly\n")
	s.expect(`nightly: free\r\n +last run .*, schedule 0 0 \* \* 1, by web1, token \d+\r\n`)
	s.expect(`run again in the same window\.\r\nForget it\? \[y/N\] `)
	s.key("\n")
	s.expect(`leaderrun: error: nothing was forgotten`)
	if got := s.ends(); !strings.HasSuffix(got, "1") {
		t.Errorf("without an answer: %q; want 1", got)
	}
	s.is("leaderrun status -l nightly | grep -c 'last run'", "1\n0")

	s.key("leaderrun forget web jobs nightly never-was\n")
	s.expect(`leaderrun: error: lock "web" was not forgotten: held by web2\r\nLOCK .*\r\njobs#1 +free .*\r\nnightly +free .*\r\nin file://.*\r\nIf you`)
	s.expect(`Forget it\? \[y/N\] `)
	s.key("y\n")
	s.expect(`lock "jobs" is forgotten\r\nthere is no record of lock "never-was"\r\nlock "nightly" is forgotten\r\n`)
	if got := s.ends(); !strings.HasSuffix(got, "75") {
		t.Errorf("with one that is held: %q; want 75", got)
	}
	s.is("leaderrun status -q | grep -c free", "0\n1")

	s.key("leaderrun forget jobs never-was\n") // nothing to ask about
	s.expect(`there is no record of lock "jobs"\r\nthere is no record of lock "never-was"\r\n`)
	s.ends()
	s.run("kill $!; wait")
}

// TestForgetTooLate: a lock that somebody takes while the question is on the screen
// stays, with everything that is kept of it.
func TestForgetTooLate(t *testing.T) {
	s := bash(t)
	s.run("leaderrun -l jobs --slots 2 -- true")
	s.run("leaderrun -l jobs -- true")
	s.run("mkfifo go; { read <go; leaderrun -l jobs --slots 2 --id web2 --events led -- sleep 1000; } &")
	before := s.run("ls locks/jobs*")
	s.key("leaderrun forget jobs\n")
	s.expect(`Forget it\? \[y/N\] `)
	if err := os.WriteFile(filepath.Join(s.dir, "go"), []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	s.text("led")
	s.key("y\n")
	s.expect(`leaderrun: error: lock "jobs" was not forgotten: slot 1: held by web2`)
	if got := s.ends(); !strings.HasSuffix(got, "75") {
		t.Errorf("exit status %q; want 75", got)
	}
	s.is("ls locks/jobs*", before)
	s.run("kill $!; wait")
}
