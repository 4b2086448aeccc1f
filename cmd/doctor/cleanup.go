package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// cleanUp deletes what the backend keeps of the scratch lock. If a check was cut
// off, a lease may still have to end before.
func (e *exam) cleanUp(ctx context.Context) []Check {
	h, err := e.open(ctx, e.patient())
	if err != nil {
		return []Check{remains(e.scratch, oneLine(err))}
	}
	defer h.close()
	if !h.can(ctx, locks.CanForget) {
		return []Check{left("clean up", "left out: this backend cannot delete what it keeps of "+e.scratch)}
	}
	if err := e.forget(ctx, h); err != nil {
		return []Check{remains(e.scratch, oneLine(err))}
	}
	return []Check{ok("clean up", Figures{"lock": e.scratch}, "nothing is left of %s", e.scratch)}
}

// forgetPatience is how much longer than its lease a lock may take to be free.
const forgetPatience = 10 * time.Second

func (e *exam) forget(ctx context.Context, h *handle) error {
	for end := e.Clock.Now().Add(e.patient() + forgetPatience); ; {
		err := e.forgetNow(ctx, h)
		if !errors.Is(err, locks.ErrHeld) || e.Clock.Now() >= end {
			return err
		}
		if err := pause(ctx, queuePause); err != nil {
			return err
		}
	}
}

func (e *exam) forgetNow(ctx context.Context, h *handle) error {
	e.pace(ctx)
	ctx, cancel := e.request(ctx)
	defer cancel()
	return h.Lock.(locks.Forgetter).Forget(ctx)
}

func remains(name, why string) Check {
	return warning("clean up", "delete by hand what the backend keeps of the lock "+name, "something may be left of %s: %s", name, why)
}
