package guard

import (
	"testing"

	"github.com/leaderrun/leaderrun/runner/cgroup"
)

// Best returns the tier that a guard chooses by itself.
func TestBest(t *testing.T) {
	t.Parallel()
	made, why, err := makeContainer("", cgroup.Home{})
	if err != nil {
		t.Fatal(err)
	}
	defer made.remove()
	tier, because := Best()
	if tier != made.tier() || (because == "") != (why == "") {
		t.Errorf("got %q, %q; a guard has %q, %q", tier, because, made.tier(), why)
	}
}
