package options

import (
	"strconv"

	"github.com/leaderrun/leaderrun/locks"
)

// contradictions are the options of which only one can be meant, of --restart when it
// is always. The one of the higher rank counts, and nothing is said about the other. If
// both have one rank, that is an error, which says why; where nothing is said here, and
// it is not the file, both count.
var contradictions = []struct{ a, b, why string }{
	{"nonblock", "wait", "-n and -w contradict each other"},
	{"verbose", "quiet", ""},
	{"rejoin", "nonblock", "--rejoin and -n contradict each other: --rejoin waits for the lock again, -n never waits"},
	{"rejoin", "wait", "--rejoin and -w contradict each other: --rejoin waits again and again, -w gives up"},
	{"once-per", "rejoin", "--once-per and --rejoin contradict each other: --once-per runs the job once, --rejoin again and again"},
	{"once-per", "restart", "--once-per and --restart always contradict each other: --once-per runs the job once, --restart always again and again"},
	{"health-cmd", "health-http", oneHealth}, {"health-cmd", "health-tcp", oneHealth}, {"health-http", "health-tcp", oneHealth},
}

const oneHealth = "use only one of --health-cmd, --health-http and --health-tcp"

// dependents are options that mean nothing without another one. They are given up with
// it.
var dependents = map[string]string{"once-per": "once-per-attempt", "restart": "give-up-after"}

// contradict settles what contradicts each other.
func (r *Request) contradict() error {
	for _, c := range contradictions {
		a, b := r.Setting(c.a), r.Setting(c.b)
		switch {
		case a == nil || b == nil || !a.on() || !b.on():
		case a.Rank > b.Rank:
			r.giveUp(b, a.Rank)
		case b.Rank > a.Rank:
			r.giveUp(a, b.Rank)
		case a.Rank < Variable:
			return r.config.at(max(a.line, b.line), "%s and %s contradict each other", c.a, c.b)
		case c.why != "":
			return &locks.UsageError{What: c.why}
		}
	}
	return nil
}

// giveUp drops a setting for one of a higher rank, and what means nothing without it.
func (r *Request) giveUp(s *Setting, over Rank) {
	if d := r.Setting(dependents[s.Name]); d != nil && d.Rank < over {
		d.reset()
	}
	s.reset()
}

// on reports whether somebody wants the option: a switch may be off.
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
