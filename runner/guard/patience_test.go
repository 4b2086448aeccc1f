package guard

import (
	"testing"

	"github.com/leaderrun/leaderrun/runner/timing"
)

// If a guard is frozen at the deadline, leaderrun waits for killPatience. In the time that is
// left until the end of the lease, the job must die. So killPatience must be less than the
// smallest margin for a busy machine.
func TestPatienceFitsIntoTheMargin(t *testing.T) {
	t.Parallel()
	if margin := timing.New(timing.MinTTL, timing.KillAfter).Margin; killPatience >= margin {
		t.Errorf("patience of %v; want less than the margin of %v", killPatience, margin)
	}
}
