package runner

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// ended is a lock whose lease has ended by a clock that may be wrong. Whoever watches it for
// 8 s believes that.
var ended = locks.Status{Held: true, Holder: "bob", Confirm: 8 * time.Second}

// watches is an acquisition of that lock.
func watches(d time.Duration, then acquisition) acquisition {
	return func(ctx context.Context, h *handle, try bool) (locks.Grant, error) {
		if try {
			return locks.Grant{}, &locks.HeldError{Status: ended}
		}
		h.waiting(locks.Waiting{Status: ended})
		return hangs(d, then)(ctx, h, try)
	}
}

// A run whose wait is over watches on until it is known whether the holder is gone, also for
// longer than the connect timeout. Then it starts, or names the holder.
func TestWatchesOn(t *testing.T) {
	fromBob := func(ctx context.Context, h *handle, try bool) (locks.Grant, error) { // bob renews
		return waits(time.Hour, "bob", nil)(ctx, h, try)
	}
	for _, test := range []struct {
		name    string
		wait    time.Duration // 0: --nonblock
		acquire []acquisition
		want    error // nil: the job is started
		at      time.Duration
	}{
		{"nonblock, gone", 0, []acquisition{watches(seconds(8), granted)}, nil, seconds(8)},
		{"nonblock, renewed", 0, []acquisition{watches(seconds(2), fromBob)}, locks.ErrHeld, seconds(2)},
		{"nonblock, still not sure", 0, []acquisition{watches(time.Hour, nil)}, locks.ErrHeld, seconds(13)},
		{"nonblock, down meanwhile", 0, []acquisition{watches(0, nil), fails(errDown), watches(seconds(8), granted)}, nil, seconds(8.2)},
		{"short wait, gone", seconds(3), []acquisition{watches(seconds(8), granted)}, nil, seconds(3 + 8)},
		{"short wait, renewed", seconds(3), []acquisition{watches(time.Hour, nil), fromBob}, locks.ErrHeld, seconds(3)},
		{"long wait", seconds(9), []acquisition{watches(seconds(8), granted)}, nil, seconds(8)},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.c.Try, r.acquire = test.wait == 0, test.acquire
				if test.wait > 0 {
					r.wait(test.wait)
				}
				r.job.begin = runs(seconds(1), 0)
				exit, err := r.run()
				if test.want == nil {
					r.ended(exit, err, proc.Exit{})
					r.within(r.when("start"), test.at-seconds(0.2), test.at)
					return
				}
				held, ok := errors.AsType[*locks.HeldError](err)
				if !ok || held.Status.Holder != "bob" {
					t.Errorf("got %v; want that bob has the lock", err)
				}
				r.within(r.now(), test.at, test.at)
			})
		})
	}
}

// A run whose lease is shorter watches on as well, but not for longer than anybody may have written.
func TestWatchesLongLease(t *testing.T) {
	t.Parallel()
	cp := &campaign{r: &run{Options: Options{Timing: timing.Timing{TTL: 15 * time.Second}}}}
	for confirm, want := range map[time.Duration]time.Duration{10 * time.Minute: 10 * time.Minute, 2 * time.Hour: 0} {
		if got := cp.unconfirmed(&locks.HeldError{Status: locks.Status{Held: true, Confirm: confirm}}); got != want {
			t.Errorf("%v: got %v, want %v", confirm, got, want)
		}
	}
}

// A run that waits for ever needs no watching on, and one that does not wait runs no
// --on-standby meanwhile.
func TestWatchesOnOnlyAfterTheWait(t *testing.T) {
	t.Parallel()
	bubbleIn(t, func(t *testing.T, r *rig) {
		r.acquire = []acquisition{fails(&locks.HeldError{Status: ended}), hangs(time.Hour, granted)}
		r.job.begin = runs(seconds(1), 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.within(r.when("start"), time.Hour, time.Hour+seconds(1))
	})
	bubbleIn(t, func(t *testing.T, r *rig) {
		r.c.Try, r.c.Hooks.Standby = true, proc.Command{Path: "/bin/standby"}
		r.acquire = []acquisition{watches(seconds(8), granted)}
		r.job.begin = runs(seconds(1), 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		if len(r.jobs) != 1 {
			t.Errorf("%d tasks were started; want the job alone", len(r.jobs))
		}
		r.emitted(event.Waiting, 1)
	})
}
