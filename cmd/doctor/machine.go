package doctor

import (
	"context"
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
	return []Check{ok("boot clock", figures{"reads_ns": up}, "reads %v", up.Round(time.Second))}
}
