package doctor

import (
	"context"
	"runtime"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/guard"
)

// containment says how a job would be contained on this machine.
func (e *exam) containment(context.Context) []Check {
	tier, why := guard.Best()
	c := ok("containment", figures{"tier": string(tier)}, "%s", tier)
	if why != "" {
		c.Text += ", nothing stronger: " + locks.Printable(why)
		c.Figures["why"] = locks.Printable(why)
	}
	if tier == "pgroup" {
		c.Level, c.Fix = Warning, "do not let jobs here leave their process group (setsid, daemons): nothing would end them"
	}
	return []Check{c}
}

// bootClock reads the clock that leases are measured by.
func (e *exam) bootClock(context.Context) []Check {
	up := time.Duration(e.Clock.Now())
	return []Check{ok("boot clock", figures{"reads_ns": up}, "reads %v, and runs while the machine is suspended", up.Round(time.Second))}
}

// terminal says which of our standard streams are terminals, which a job would have.
func (e *exam) terminal(context.Context) []Check {
	var on []string
	columns := 0
	for _, s := range e.Streams {
		if s.Columns > 0 {
			on = append(on, s.Name)
			columns = s.Columns
		}
	}
	if len(on) == 0 {
		return []Check{ok("terminal", nil, "none: a job would not have one either")}
	}
	return []Check{ok("terminal", figures{"streams": on, "columns": columns}, "%s, %d columns wide: a job would have it", strings.Join(on, ", "), columns)}
}

// systemd says whether a unit's options would have an effect.
func (e *exam) systemd(context.Context) []Check {
	if runtime.GOOS != "linux" {
		return []Check{skipped("systemd", "not on "+runtime.GOOS)}
	}
	return []Check{e.service("/")}
}

// service looks for systemd in the file system below a root and in our environment.
func (e *exam) service(root string) Check {
	version, running := systemdVersion(root)
	if !running {
		return skipped("systemd", "it did not start this machine")
	}
	c := ok("systemd", figures{}, "runs this machine")
	if version != "" {
		c.Text = "version " + version + " runs this machine"
		c.Figures["version"] = version
	}
	unit, socket := e.getenv("INVOCATION_ID") != "", e.getenv("NOTIFY_SOCKET") != ""
	c.Figures["unit"], c.Figures["notify"] = unit, socket
	switch {
	case socket:
		c.Text += "; we are in a unit with Type=notify"
	case unit:
		c.Text += "; we are in a unit without Type=notify"
	default:
		c.Text += "; we are not in a unit"
	}
	return c
}

func (e *exam) getenv(name string) string {
	for _, kv := range e.Environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}
