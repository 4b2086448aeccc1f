//go:build unix

package guard

import (
	"slices"
	"strings"
	"testing"
)

// The same seed has the same course, so that a failure can be replayed. The seed does not
// decide the order of events at one moment, which is up to Go's scheduler and select, and
// the random pauses of the runner. So the test ignores the order at one moment, and uses
// schedules without such pauses.
func TestElectionsAreTheSameAgain(t *testing.T) {
	same, all := 0, 0
	for seed := uint64(1); all < sample(30); seed++ {
		if newPlan(seed).jittery {
			continue
		}
		all++
		if repeats(t, seed) {
			same++
		}
	}
	t.Logf("%d of %d schedules had the same course again", same, all)
	if same < all*9/10 {
		t.Errorf("%d of %d schedules had another course each time", all-same, all)
	}
}

// repeats reports whether a schedule has the same course again in one of a few tries. Of two
// events at one moment, the first may decide what follows.
func repeats(t *testing.T, seed uint64) bool {
	first := course(t, seed)
	for range 3 {
		if slices.Equal(course(t, seed), first) {
			return true
		}
	}
	return false
}

// course returns the trace of a seed, sorted.
func course(t *testing.T, seed uint64) (all []string) {
	for _, e := range play(t, newPlan(seed)).trace {
		e.what, _, _ = strings.Cut(e.what, ": ") // of two reasons, either may come first
		all = append(all, e.String())
	}
	slices.Sort(all)
	return all
}
