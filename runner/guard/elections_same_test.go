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

// repeats reports whether two of a few plays of a schedule have the same course. Of two events
// at one moment the first may decide what follows, and a busy machine deals them out in more
// ways than one.
func repeats(t *testing.T, seed uint64) bool {
	var seen [][]string
	for range 6 {
		now := course(t, seed)
		if slices.ContainsFunc(seen, func(c []string) bool { return slices.Equal(c, now) }) {
			return true
		}
		seen = append(seen, now)
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
