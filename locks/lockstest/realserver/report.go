package realserver

import (
	"strings"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// How much of a log is shown: with more, a reader may miss what the test says.
const shownLines, shownBytes = 15, 300

// report shows the end of the server's log if the test has failed, and how to repeat the
// test.
func (p *Process) report() {
	p.TB.Helper()
	if !p.TB.Failed() || p.reported {
		return
	}
	p.reported = true
	lines := strings.Split(strings.TrimSpace(p.Log()), "\n")
	lines = lines[max(0, len(lines)-shownLines):]
	for i, line := range lines {
		lines[i] = locks.Cut(line, shownBytes)
	}
	p.TB.Logf("the end of the log of %s:\n%s\nto repeat: %s", p.Path, strings.Join(lines, "\n"), trial.Command(p.TB))
}

// fail ends a test that cannot continue. It shows the log at once, because other
// goroutines may need the server and panic before the test ends.
func (p *Process) fail(what string) {
	p.TB.Helper()
	p.TB.Errorf("%s %s", p.Path, what)
	p.report()
	p.TB.FailNow()
}
