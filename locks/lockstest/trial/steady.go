package trial

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// RepeatsVariable names a file to which each repetition adds a line, so that a run of
// all tests can say how many there were.
const RepeatsVariable = "LEADERRUN_TEST_REPEATS"

// busy is the share of time for which somebody waited for a processor, from which on
// a machine counts as too busy to judge a test that races the clock. All tests of the
// module at once reach it on two cores.
const busy = 0.5

// attempts are how often Steady runs a test at most. Each has twice the scale of the
// one before.
const attempts = 4

// Steady runs a test that races the clock. It is given a scale, by which it multiplies
// its leases and its patience alike: 1, or more where the machine is busy as it begins.
// If the test fails, and processes are shown to have waited for a processor meanwhile,
// Steady runs it again, with twice the scale. On a machine that is not busy, or cannot
// tell, the first failure counts.
func Steady(tb testing.TB, f func(tb testing.TB, scale int)) {
	tb.Helper()
	steady(tb, Waited, f)
}

func steady(tb testing.TB, waited func() (time.Duration, bool), f func(tb testing.TB, scale int)) {
	tb.Helper()
	for scale, n := firstScale(), 1; ; scale, n = 2*scale, n+1 {
		start := time.Now()
		before, _ := waited()
		r := Run(tb, func(tb testing.TB) { f(tb, scale) })
		after, known := waited()
		share := float64(after-before) / float64(time.Since(start))
		switch {
		case r.Skipped:
			tb.Skip(r.Log)
		case r.Failed && n < attempts && known && share >= busy:
			note(tb, fmt.Sprintf("%s of %s failed, at scale %d, while processes waited for a processor for %.0f %% of %v; it is repeated",
				tb.Name(), tested(), scale, 100*share, time.Since(start).Round(time.Millisecond)), r.Log)
			continue
		}
		if r.Log != "" {
			tb.Log(r.Log)
		}
		if r.Failed {
			tb.Errorf("to repeat it: %s", Command(tb))
		}
		return
	}
}

// note tells of a repetition.
func note(tb testing.TB, why, log string) {
	tb.Helper()
	tb.Logf("%s:\n%s", why, log)
	name := os.Getenv(RepeatsVariable)
	if name == "" {
		return
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		tb.Error(err)
		return
	}
	defer file.Close()
	if _, err := fmt.Fprintln(file, why); err != nil {
		tb.Error(err)
	}
}

// Stretch is a limit for what must happen at some time: d, or up to three times as
// long on a machine that is crowded now.
func Stretch(d time.Duration) time.Duration { return time.Duration(firstScale()) * d }
