package testscripts

import (
	"strings"
	"testing"
)

// TestWatchLive checks that a live screen shows the present state, whatever happens to
// the terminal, and leaves the terminal as it was.
func TestWatchLive(t *testing.T) {
	s := bash(t)
	const enter, leave = `\x1b\[\?1049h\x1b\[\?25l\x1b\[\?7l`, `\x1b\[\?7h\x1b\[\?25h\x1b\[\?1049l`
	s.run("leaderrun -l nightly --id web1 -- sleep 1000 &")
	s.run("leaderrun -l report -- true")
	s.key("leaderrun watch --interval 0.1\n")
	s.expect(enter)
	s.expect(`2 locks, 1 held`)
	s.expect(`nightly +\S*held\S* +web1 `)
	s.resize(3)
	s.expect(`3 lines more`)
	s.resize(24)
	s.expect(`nightly +\S*held\S* +web1 `)
	s.key(ctrlZ)
	s.expect(leave)
	s.expect(`Stopped`)
	s.key("fg\n")
	s.expect(enter)
	s.expect(`nightly +\S*held\S* +web1 `)
	s.key(ctrlC)
	s.expect(leave)
	if _, status := s.ends(), s.run("kill %1; echo"); status == "" {
		t.Error("the shell no longer answers")
	}
}

// TestWatchDumb checks that a terminal that cannot draw gets lines.
func TestWatchDumb(t *testing.T) {
	s := bash(t)
	s.key("TERM=dumb leaderrun watch -l x\n")
	if got := s.expect(`(?s)watch -l x\r\n(.*x: free)\r\n`); strings.Contains(got, "\x1b") {
		t.Errorf("a dumb terminal was shown %q", got)
	}
	s.key(ctrlC)
	s.ends()
}
