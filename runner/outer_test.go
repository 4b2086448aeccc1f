package runner

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A campaign does not wait for a lock that a leaderrun around us holds, whether it learns that
// in the queue or by a refusal, at once or later. It logs nothing.
func TestOuter(t *testing.T) {
	held := fails(&locks.Error{Op: "acquire", Class: locks.ErrHeld, Err: &locks.HeldError{Status: locks.Status{Holder: "outer"}}})
	for name, test := range map[string]struct {
		try      bool
		acquire  []acquisition
		attempts int
		at       time.Duration
	}{
		"queue":           {false, []acquisition{waits(time.Hour, "outer", nil)}, 1, 0},
		"try":             {true, []acquisition{waits(0, "outer", nil)}, 1, 0},
		"polling":         {false, []acquisition{held}, 1, 0},
		"after an outage": {false, []acquisition{fails(errDown), waits(time.Hour, "outer", nil)}, 2, seconds(0.2)},
		"behind another":  {false, []acquisition{waits(seconds(3), "bob", waits(time.Hour, "outer", nil))}, 1, seconds(3)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.c.Try, r.acquire, r.secrets = test.try, test.acquire, []string{"PASSWORD"}
				r.host.isOuter = func(s locks.Status) bool { return s.Holder == "outer" }
				calls := 0
				r.watch.waiting = func(w locks.Waiting) {
					if calls++; w.Status.Holder != "bob" {
						t.Errorf("Waiting was called for %s", w.Status.Holder)
					}
				}
				_, err := r.run()
				var outer *OuterError
				if !errors.As(err, &outer) || outer.Status.Holder != "outer" || !slices.Equal(outer.Secrets, r.secrets) {
					t.Errorf("got %#v, want an *OuterError", err)
				}
				r.notStarted(test.attempts, test.at/2, test.at)
			})
		})
	}
}

// If the backend grants the lock anyway, it is ours.
func TestOuterReleasesMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.host.isOuter = func(locks.Status) bool { return true }
		r.acquire = []acquisition{stubborn(waits(seconds(1), "outer", granted))}
		r.job.begin = runs(seconds(1), 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
	})
}

// A signal counts more.
func TestSignalledWithOuter(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.host.isOuter = func(locks.Status) bool { return true }
		r.acquire = []acquisition{func(ctx context.Context, h *handle, try bool) (locks.Grant, error) {
			r.signals <- syscall.SIGTERM
			<-ctx.Done()
			return waits(0, "outer", fails(ctx.Err()))(ctx, h, try)
		}}
		_, err := r.run()
		var signalled *SignalError
		if !errors.As(err, &signalled) {
			t.Errorf("got %v, want a *SignalError", err)
		}
	})
}
