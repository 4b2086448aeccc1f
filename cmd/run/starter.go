package run

import (
	"errors"
	"strings"
	"sync"

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

// starters returns runner.Config.Starter. The first job uses the guard that was begun
// while the options were read; each later one begins another.
func (s *session) starters() func() (proc.Starter, error) {
	var mu sync.Mutex
	return func() (proc.Starter, error) {
		mu.Lock()
		first := s.guard
		s.guard = nil
		mu.Unlock()
		if first != nil {
			return first, nil
		}
		before := s.before
		if len(before) > 0 { // we may have adopted more of theirs, which /proc may hide
			before = nil
		}
		next := guard.Begin(before)
		if err := s.contain(next); err != nil {
			next.Close()
			return nil, err
		}
		return next, nil
	}
}
