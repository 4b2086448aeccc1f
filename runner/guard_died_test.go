package runner

import (
	"errors"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// If the guard died during the campaign, another one is started.
func TestGuardDied(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.job.begin = runs(time.Second, 0)
		r.starts = func(j *job, _ proc.Command) {
			if len(r.jobs) == 1 {
				j.refuse = proc.ErrGuardDied
			}
		}
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.did("0s open", "0s acquire", "0s start", "1s exit", "1s release", "1s close")
		if !r.jobs[0].closed {
			t.Error("the starter of the dead guard was not closed")
		}
	})
}

// If the guard dies each time, we do not try for ever.
func TestGuardDiedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.starts = func(j *job, _ proc.Command) { j.refuse = proc.ErrGuardDied }
		if _, err := r.run(); !errors.Is(err, proc.ErrGuardDied) {
			t.Errorf("got %v, want %v", err, proc.ErrGuardDied)
		}
		if len(r.jobs) != 2 {
			t.Errorf("%d starters were tried, want 2", len(r.jobs))
		}
		r.did("0s open", "0s acquire", "0s release", "0s close")
	})
}
