package guard

import (
	"testing"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// Of our children, only those that were started after the guard, and that are not programs of
// ours, are part of the job.
func TestNotOfJob(t *testing.T) {
	t.Parallel()
	j := &job{
		client:  &Client{birth: 100, before: map[int]uint64{5: 50, 6: 0}},
		onDeath: proc.OnDeath{NotOfJob: func(pid int) bool { return pid == 8 }},
	}
	for _, tt := range []struct {
		pid     int
		started uint64
		want    bool
	}{
		{8, 200, true}, {9, 99, true}, {9, 100, false}, {9, 200, false},
		{5, 50, true}, {5, 200, false}, {6, 0, true}, // a child from before the guard, and another with its id
		{8, 0, true}, {9, 0, false}, // hidden
	} {
		if got := j.isNotOfJob(tt.pid, tt.started); got != tt.want {
			t.Errorf("process %d, started at %d: got %v, want %v", tt.pid, tt.started, got, tt.want)
		}
	}
	j.onDeath.NotOfJob = nil
	if j.isNotOfJob(8, 200) {
		t.Error("a process of the job does not count as one")
	}
}
