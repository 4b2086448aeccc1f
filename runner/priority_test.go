package runner

import (
	"errors"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// prefers sets Options.Priority to n.
func (r *rig) prefers(n int, queue ...locks.Place) { r.c.Priority, r.shelf.queue = &n, queue }

// If somebody waits with a greater priority, we release the lock before the job is started, and
// campaign again at once: during a pause, waiters with a lower priority would not see us.
func TestStepBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.prefers(3)
		r.job.begin = runs(time.Second, 0)
		r.queue = map[int][]locks.Place{
			1: {{Holder: "low", Priority: 2}, {Holder: "same", Priority: 3}, {Holder: "high", Priority: 4}},
			2: {{Holder: "higher", Priority: 1000}},
			3: {{Holder: "low", Priority: 2}, {Holder: "same", Priority: 3}},
		}
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		back := []string{"0s open", "0s acquire", "0s release", "0s close"}
		r.did(append(append(back, back...), ran(time.Second, "1s exit")...)...)
		if got := r.kinds(); got[0] != event.Acquired || got[1] != event.Started {
			t.Errorf("got the events %v", got)
		}
	})
}

// With Try, we do not campaign again, and the error names the waiter.
func TestStepBackTry(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Try = true
		r.prefers(1, locks.Place{Holder: "vip", RunID: "x", Priority: 2})
		_, err := r.run()
		var held *locks.HeldError
		if !errors.As(err, &held) || held.Status.Holder != "vip" || held.Status.RunID != "x" {
			t.Errorf("got %v, want a HeldError of vip", err)
		}
		r.did("0s open", "0s acquire", "0s release", "0s close")
	})
}

// If the queue cannot be read, we lead.
func TestStepBackUnknown(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.prefers(1)
		r.shelf.inspect = reply{err: errDown}
		r.job.begin = runs(time.Second, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.warned(`cannot read the priorities of other waiters: acquire "nightly" on model: connection refused`)
	})
}

// A release that fails is a warning. The lease ends by itself.
func TestStepBackNotReleased(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Try = true
		r.prefers(1, locks.Place{Holder: "vip", Priority: 2})
		r.release = reply{err: errDown}
		exit, err := r.run()
		r.failed(exit, err, locks.ErrHeld)
		r.warned(`the lock could not be released; it is free when its lease ends: acquire "nightly" on model: connection refused`)
	})
}

// A renewal at that moment does not block us: its report waits until we know whether the lease
// becomes ours.
func TestStepBackDuringARenewal(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.c.Try = true
		r.prefers(1, locks.Place{Holder: "vip", Priority: 2})
		r.acquire = []acquisition{hangs(seconds(2.5), granted)}
		r.shelf.takes = time.Second
		exit, err := r.run()
		r.failed(exit, err, locks.ErrHeld)
		r.did("0s open", "0s acquire", "3.5s release", "3.5s close")
	})
}

// Without a priority, we do not step back.
func TestNoPriority(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.job.begin = runs(time.Second, 0)
		r.shelf.queue = []locks.Place{{Holder: "high", Priority: 1}}
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did(ran(time.Second, "1s exit")...)
	})
}
