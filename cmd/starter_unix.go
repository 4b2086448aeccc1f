//go:build unix

package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/guard"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A starter starts the job. It must be closed when nothing of that is left.
type starter = *guard.Guard

func newStarter() starter { return guard.Begin() }

// tiers are the ways to keep a job together.
func tiers() (names []string) {
	for _, t := range guard.Tiers() {
		names = append(names, string(t))
	}
	return names
}

// contain sees to it that the job is kept together as the options say, or
// refuses.
func contain(s starter, o *options) error {
	c := guard.Containment{
		Use:   guard.Tier(strings.TrimPrefix(o.containment.value, "auto")),
		Least: guard.Tier(o.requireContainment.value),
	}
	err := s.Contain(c)
	if err == nil {
		return nil
	}
	hint := "see the containment tiers in docs/safety.md, or leave the option out"
	if errors.Is(err, proc.ErrForeign) {
		hint = "mount it, as unshare --mount-proc does"
	}
	return output.WithHint(&locks.UsageError{What: fmt.Sprintf("the job cannot be contained: %v", err)}, hint)
}

// beGuard lives the life of a guard, if this process was started to be one.
func beGuard(args []string) (status int, ok bool) {
	if !guard.IsRole(args) {
		return 0, false
	}
	return guard.Main(args), true
}
