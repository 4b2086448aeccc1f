package run

import (
	"errors"
	"strings"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/guard"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// contain has a job contained as the options say, or returns an error.
func (s *session) contain(job *guard.Client) error {
	err := job.Contain(guard.Tier(strings.TrimPrefix(s.opt.Containment.Value, "auto")))
	if err == nil {
		return nil
	}
	hint := "see the containment tiers in docs/safety.md, or omit the option"
	if errors.Is(err, proc.ErrForeign) {
		hint = "mount it, as unshare --mount-proc does"
	}
	return output.WithHint(locks.Usagef("the job cannot be contained: %v", err), hint)
}
