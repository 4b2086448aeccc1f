package doctor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
)

// cleanUp deletes the backend's record of the scratch lock. If a check was interrupted, it
// may have to wait until a lease has ended.
func (e *exam) cleanUp(ctx context.Context) []Check {
	h, err := e.open(ctx, e.patient())
	if err != nil {
		return []Check{leftBehind(e.scratch, output.OneLine(err.Error()))}
	}
	defer h.close()
	if !h.can(ctx, locks.CanForget) {
		return []Check{skipped("clean up", "skipped: this backend cannot delete its record of "+e.scratch)}
	}
	err = e.forget(ctx, h)
	if errors.Is(err, locks.ErrDenied) {
		return []Check{warning("clean up", "allow it to delete them, and until then delete them by hand: each doctor leaves more",
			"what the backend keeps of the lock %s is left: %s", e.scratch, output.OneLine(err.Error()))}
	}
	if err != nil {
		return []Check{leftBehind(e.scratch, output.OneLine(err.Error()))}
	}
	c := ok("clean up", figures{"lock": e.scratch}, "nothing is left of %s", e.scratch)
	if n := e.forgetEarlier(ctx, h); n > 0 {
		c.Figures["earlier"] = n
		c.Text += fmt.Sprintf("; deleted what %d earlier checks that were killed had left", n)
	}
	return []Check{c}
}

// A doctor that was killed could not clean up: its lock ended with its lease, but its record
// remains. A later doctor deletes such records when they are so old that their doctors have
// certainly ended, and at most mostEarlier of them.
const (
	earlierAge  = time.Hour
	mostEarlier = 16
)

// forgetEarlier deletes such records and returns how many it has deleted. It leaves what
// fails to the next doctor.
func (e *exam) forgetEarlier(ctx context.Context, h *handle) (n int) {
	if !h.can(ctx, locks.CanList) {
		return 0
	}
	cursor := ""
	for range listPages {
		page, next, err := list(ctx, h, cursor)
		if err != nil {
			return n
		}
		for _, l := range page {
			if n < mostEarlier && e.isEarlier(l.Name) && e.forgetOther(ctx, l.Name) == nil {
				n++
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	return n
}

// isEarlier reports whether a lock is an old scratch lock according to its name.
func (e *exam) isEarlier(name string) bool {
	begin := len(e.scratch) - 16
	if len(name) != len(e.scratch) || name[:begin] != e.scratch[:begin] {
		return false
	}
	made, err := strconv.ParseUint(name[begin:begin+8], 16, 32)
	return err == nil && time.Since(time.Unix(int64(made), 0)) > earlierAge
}

// forgetOther fails if somebody holds the lock.
func (e *exam) forgetOther(ctx context.Context, name string) error {
	h, err := e.openLock(ctx, name, e.patient())
	if err != nil {
		return err
	}
	defer h.close()
	return e.forgetNow(ctx, h)
}

// forgetPatience is how long after the end of its lease a lock may take to become free.
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

func leftBehind(name, why string) Check {
	return warning("clean up", "leaderrun forget --yes "+name+"; or a later doctor deletes it, once it is an hour old", "something may be left of %s: %s", name, why)
}
