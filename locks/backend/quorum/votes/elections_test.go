package votes

import (
	"os"
	"strconv"
	"strings"
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
		s := numbered(seed)
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
	var elections, evictions int
	var latest time.Duration
	for seed := uint64(1); elections < want; seed++ {
		s := numbered(seed)
		s.play()
		if s.doubts > 0 {
			s.fail("%d times a seat was doubted", s.doubts)
		}
		if len(s.wrong) > 0 {
			t.Fatalf("VOTES_SEED=%d go test -count 1 -v -run 'TestElections$' ./locks/backend/quorum/votes\n%q", seed, s.wrong)
		}
		elections += s.elections
		evictions += s.evictions
		latest = max(latest, time.Duration(s.recovered-s.healed))
	}
	t.Logf("%d elections, of which an operator ended %d; a leader at most %v after the faults", elections, evictions, latest)
	// A request of a candidate that has died may arrive two leases later, and binds a voter
	// for a third.
	if latest > 4*lease {
		t.Error("want a leader within four leases")
	}
	if evictions == 0 {
		t.Error("no term was evicted")
	}
}

// numbered returns a schedule of 2 to 6 seats. One host has none.
func numbered(seed uint64) *schedule {
	seats := 2 + int(seed%5)
	return newSchedule(seed, seats+1, seats, 3, flaws{})
}

// TestFlaws: the schedules find what is wrong with a voter that does not do what it must, or
// with a clock that does not run as is assumed.
func TestFlaws(t *testing.T) {
	t.Parallel()
	if raced {
		return // there is one goroutine; make test also plays it without the race detector
	}
	for name, f := range map[string]flaws{
		"a voter that continues forgets when it may vote": {forgetsOpens: true},
		"a promise is kept after the answer":              {keepsLate: true},
		"promises of another boot are continued":          {keepsForever: true},
		"a voter that is told to end a term is free":      {endFrees: true},
		"a voter without promises does not abstain":       {noWait: true},
		"two voters in a seat":                            {twice: true},
		"counting on CLOCK_BOOTTIME":                      {count: boottime},
		"counting on CLOCK_MONOTONIC_RAW alone":           {count: awake},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			find(t, "too", func(seed uint64) *schedule { return newSchedule(seed, 4, 3, 3, f) })
		})
	}
}

// TestTwinsAreSeen: where nothing else is wrong, candidates doubt a seat in which two vote, and
// somebody leads with the votes of the others.
func TestTwinsAreSeen(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		s := newSchedule(seed, 4, 3, 3, flaws{twice: true})
		s.healed = int64(lease)
		s.calm = played
		s.play()
		if s.doubts == 0 || len(s.wrong) > 0 {
			t.Errorf("seed %d: %d doubts in %d elections; wrong: %q", seed, s.doubts, s.elections, s.wrong)
		}
	}
}

// find plays schedules until one goes wrong as is wanted.
func find(t *testing.T, want string, schedule func(seed uint64) *schedule) {
	t.Helper()
	elections := 0
	for seed := uint64(1); seed <= 3000; seed++ {
		s := schedule(seed)
		s.play()
		elections += s.elections
		for _, wrong := range s.wrong {
			if strings.Contains(wrong, want) {
				t.Logf("the schedule %d, after %d elections: %s", seed, elections, wrong)
				return
			}
		}
	}
	t.Errorf("%d elections: nothing is wrong", elections)
}
