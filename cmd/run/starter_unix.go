//go:build unix

package run

import (
	"errors"
	"strings"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/guard"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A starter starts the job. It must be closed when nothing of that is left.
type starter = *guard.Client

func newStarter() starter { return guard.Begin() }

// contain sees to it that the job is kept together as the options say, or
// refuses.
func (s *session) contain(job starter) error {
	c := guard.Containment{
		Use:   guard.Tier(strings.TrimPrefix(s.Containment.Value, "auto")),
		Least: guard.Tier(s.RequireContainment.Value),
	}
	err := job.Contain(c)
	if err == nil {
		return nil
	}
	hint := "see the containment tiers in docs/safety.md, or omit the option"
	if errors.Is(err, proc.ErrForeign) {
		hint = "mount it, as unshare --mount-proc does"
	}
	return output.WithHint(locks.Usagef("the job cannot be contained: %v", err), hint)
}
