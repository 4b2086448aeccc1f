//go:build unix

package runner

import (
	"errors"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A lock that somebody waits for with a greater priority is left to him before
// the job is started, and waited for again at once: a pause would be one in which
// those with a lesser one do not see us.
func TestPriorityStepsBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		mine := 3
		r.c.Priority = &mine
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
	})
}

// With Try, it is held by him.
func TestPriorityTry(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		mine := -5
		r.c.Priority, r.c.Try = &mine, true
		r.queue = map[int][]locks.Place{1: {{Holder: "high"}}}
		_, err := r.run()
		var held *locks.HeldError
		if !errors.As(err, &held) || held.Status.Holder != "high" {
			t.Errorf("got %v, want a HeldError that names high", err)
		}
		r.did("0s open", "0s acquire", "0s release", "0s close")
	})
}

// Without a priority nobody is let go first.
func TestNoPriority(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.job.begin = runs(time.Second, 0)
		r.queue = map[int][]locks.Place{1: {{Holder: "high", Priority: 1}}}
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did(ran(time.Second, "1s exit")...)
	})
}
