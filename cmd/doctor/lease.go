package doctor

import (
	"context"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// lease compares the granted lease with the one that was asked for, and checks whether a run
// would accept it.
func (e *exam) lease(ctx context.Context) []Check {
	h, err := e.open(ctx, e.TTL)
	if err != nil {
		return []Check{failed("lease", err)}
	}
	defer func() { h.end(ctx) }()
	grant, err := h.take(ctx)
	if err != nil {
		return []Check{failed("lease", err)}
	}
	c := ok("lease", figures{"asked_ns": e.TTL, "granted_ns": grant.TTL}, "asked for %v, granted %v", e.TTL, grant.TTL)
	if err := timing.New(e.TTL, timing.KillAfter).Gate(grant.TTL); err != nil {
		c.Level, c.class = Error, locks.ErrUsage
		c.Text += ": " + output.OneLine(err.Error())
		c.Fix = "change the ttl as it says, or the leases that the server grants"
		return []Check{c}
	}
	switch {
	case grant.TTL < e.TTL:
		c.Level, c.Fix = Warning, "use --ttl "+grant.TTL.String()+", or have the server grant longer ones"
	case grant.TTL > e.TTL:
		c.Text += ": after a machine crashes, others wait that long"
	}
	return []Check{c}
}
