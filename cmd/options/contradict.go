package options

import (
	"strconv"

	"github.com/leaderrun/leaderrun/locks"
)

// contradictions are pairs of options that exclude each other (restart: only as always).
// The one of higher rank wins silently. With equal ranks it is an error, whose text is
// why; if why is empty, the first one wins, as with flock(1), except in the config file.
//
// More pairs are errors whatever their ranks: --slots with --once-per or --priority
// (cmd/run/check.go), and -c and a command (cmd/run/run.go).
var contradictions = []struct{ a, b, why string }{
	{"lock", "all", "--lock and --all contradict each other"},
	{"nonblock", "wait", ""},
	{"quiet", "verbose", ""},
	{"rejoin", "nonblock", "--rejoin and -n contradict each other: --rejoin waits for the lock again, -n never waits"},
	{"rejoin", "wait", "--rejoin and -w contradict each other: --rejoin waits again and again, -w gives up"},
	{"once-per", "rejoin", "--once-per and --rejoin contradict each other: --once-per runs the job once, --rejoin again and again"},
	{"once-per", "restart", "--once-per and --restart always contradict each other: --once-per runs the job once, --restart always again and again"},
}

// dependents maps an option to the one that makes no sense without it, and is dropped
// with it.
var dependents = map[string]string{"once-per": "once-per-attempt", "restart": "give-up-after"}

// contradict drops one option of each pair that contradicts each other, or returns an
// error.
func (r *Invocation) contradict() error {
	for _, c := range contradictions {
		a, b := r.Setting(c.a), r.Setting(c.b)
		switch {
		case a == nil || b == nil || !a.on() || !b.on():
		case a.Rank > b.Rank:
			r.drop(b, a.Rank)
		case b.Rank > a.Rank:
			r.drop(a, b.Rank)
		case a.Rank < Variable:
			return r.config.at(max(a.line, b.line), "%s and %s contradict each other", c.a, c.b)
		case c.why != "":
			return &locks.UsageError{What: c.why}
		default:
			r.drop(b, a.Rank)
		}
	}
	return nil
}

// drop resets a setting because of one of a higher rank. It also resets the dependent
// option, unless that has the higher rank too.
func (r *Invocation) drop(s *Setting, winner Rank) {
	if d := r.Setting(dependents[s.Name]); d != nil && d.Rank < winner {
		d.reset()
	}
	s.reset()
}

// on reports whether the option is set, and if it is a switch, whether it is on.
func (s *Setting) on() bool {
	switch {
	case s.Name == "restart":
		return s.Text == "always"
	case s.TakesValue():
		return s.Rank > Default && s.Text != ""
	}
	if n, err := strconv.Atoi(s.Text); err == nil {
		return n > 0
	}
	on, _ := strconv.ParseBool(s.Text)
	return on
}
