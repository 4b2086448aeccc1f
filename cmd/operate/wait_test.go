package operate

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/cmd/view"
	"github.com/leaderrun/leaderrun/locks"
)

// TestFree: a lock is free if nobody has it, or if the lease of whoever had it has certainly ended.
// A lock with slots is free if all of them are.
func TestFree(t *testing.T) {
	t.Parallel()
	lock := func(held bool, left, confirm time.Duration) view.Lock {
		return view.Lock{State: locks.State{Status: locks.Status{Held: held, Left: left, Confirm: confirm}}}
	}
	held, ended, unsure := lock(true, time.Second, 0), lock(true, -time.Second, 0), lock(true, -time.Second, time.Second)
	for name, tt := range map[string]struct {
		now  []view.Lock
		free bool
	}{
		"free":              {[]view.Lock{lock(false, 0, 0)}, true},
		"no slot":           {nil, true},
		"held":              {[]view.Lock{held}, false},
		"held without end":  {[]view.Lock{lock(true, 0, 0)}, false},
		"ended":             {[]view.Lock{ended}, true},
		"not yet confirmed": {[]view.Lock{unsure}, false},
		"slots":             {[]view.Lock{ended, held}, false},
		"ended slots":       {[]view.Lock{ended, ended}, true},
	} {
		if met("free", tt.now, nil, false) != tt.free || met("held", tt.now, nil, false) == tt.free {
			t.Errorf("%s: want free=%v", name, tt.free)
		}
	}
}

// A closedStore is a backend with a lock that is free, and may not be listed.
type closedStore struct{ heldStore }

func (s *closedStore) Abilities(context.Context) ([]locks.Ability, error) {
	return []locks.Ability{locks.CanInspect, locks.CanList}, nil
}

func (s *closedStore) Inspect(context.Context) (locks.State, error) { return locks.State{}, nil }

func (s *closedStore) List(context.Context, string) ([]locks.Listed, string, error) {
	return nil, "", locks.ErrDenied
}

// TestWaitUnseen: who waits learns that slots cannot be seen, which may be held.
func TestWaitUnseen(t *testing.T) {
	t.Parallel()
	for until, want := range map[string]int{"free": 0, "held": 75} {
		complaints, status := operate(new(closedStore), func(p *operator) error { return p.await(until, time.Millisecond) })
		if status != want || strings.Count(complaints, "warning: ") != 1 || !strings.Contains(complaints, "cannot see whether it has slots") {
			t.Errorf("for %s: got %d, %q", until, status, complaints)
		}
	}
}
