//go:build unix

package guard

import (
	"testing"

	"github.com/leaderrun/leaderrun/runner/timing"
)

// A guard that is frozen at the deadline costs its patience, and what is then
// left until the end of the lease must do for the job to die. The margin for a
// machine that is late is there for that, also the smallest one.
func TestPatienceFitsIntoTheMargin(t *testing.T) {
	t.Parallel()
	if margin := timing.New(timing.MinTTL, -1).Margin; killPatience >= margin {
		t.Errorf("patience of %v; want less than the margin of %v", killPatience, margin)
	}
}
