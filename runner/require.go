package runner

import (
	"context"

	"github.com/leaderrun/leaderrun/locks"
)

// require refuses a backend that lacks what was asked for.
func (r *run) require(ctx context.Context, lock locks.Lock) error {
	for _, n := range []struct {
		asked   bool
		what    string
		ability locks.Ability
	}{
		{r.Once != nil, "--once-per", locks.CanRecord},
		{r.Strict && !locks.IsPermanent(lock), "--takeover strict", locks.CanRecord},
		{r.Priority != nil, "--priority", locks.CanQueue},
	} {
		if n.asked {
			if err := locks.Require(ctx, lock, n.what, n.ability); err != nil {
				return err
			}
		}
	}
	return nil
}
