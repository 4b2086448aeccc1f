package votes

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

// TestElections plays random schedules. VOTES_SEED plays one of them, and shows what
// happens in it.
func TestElections(t *testing.T) {
	t.Parallel()
	if text := os.Getenv("VOTES_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		s := newSchedule(seed)
		s.trace = func(format string, args ...any) {
			t.Logf("%v: "+format, append([]any{time.Duration(s.now)}, args...)...)
		}
		s.play()
		t.Logf("%d elections; wrong: %q", s.elections, s.wrong)
		return
	}
	want := 3000
	switch {
	case raced: // there is one goroutine
		want = 100
	case tester.Long():
		want = 100_000
	}
	var elections int
	var latest time.Duration
	for seed := uint64(1); elections < want; seed++ {
		s := newSchedule(seed)
		s.play()
		if len(s.wrong) > 0 {
			t.Fatalf("VOTES_SEED=%d go test -count 1 -v -run 'TestElections$' ./locks/backend/gossip/votes\n%q", seed, s.wrong)
		}
		elections += s.elections
		latest = max(latest, time.Duration(s.recovered-s.healed))
	}
	t.Logf("%d elections; a leader at most %v after the faults", elections, latest)
	// A request of a candidate that has died may arrive two leases later, and binds a voter
	// for a third.
	if latest > 4*lease {
		t.Error("want a leader within four leases")
	}
}
