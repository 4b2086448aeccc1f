package trial

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// RepeatsVariable names a file to which each repetition adds a line, so that a run of all
// tests can count them.
const RepeatsVariable = "LEADERRUN_TEST_REPEATS"

// busy is the share of time during which processes waited for a processor or a disk, from
// which a machine is too busy to judge a test that races the clock. All tests of the
// module at once reach it on two cores.
const busy = 0.5

// attempts is how often Steady runs a test at most. Each attempt has twice the scale of
// the one before.
const attempts = 4

// Steady runs a test that races the clock. The test multiplies its leases and its
// patience by the given scale, which is 1, or more if the machine is busy when the test
// begins. If the test fails, and processes waited for a processor or a disk meanwhile,
// Steady runs it again with twice the scale. On a machine that is not busy, or does not
// report it, the first failure counts.
func Steady(tb testing.TB, f func(tb testing.TB, scale int)) {
	tb.Helper()
	steady(tb, f, Waited, waitedForDisk)
}

func steady(tb testing.TB, f func(tb testing.TB, scale int), waits ...func() (time.Duration, bool)) {
	tb.Helper()
	for scale, n := Scale(), 1; ; scale, n = 2*scale, n+1 {
		start := time.Now()
		share := shares(waits)
		r := Run(tb, func(tb testing.TB) { f(tb, scale) })
		waited := share()
		switch {
		case r.Skipped:
			tb.Skip(r.Log)
		case r.Failed && n < attempts && waited >= busy:
			note(tb, fmt.Sprintf("%s of %s failed, at scale %d, while processes waited for a processor or a disk for %.0f %% of %v; it is repeated",
				tb.Name(), tested(), scale, 100*waited, time.Since(start).Round(time.Millisecond)), r.Log)
			continue
		}
		if r.Log != "" {
			tb.Log(r.Log)
		}
		if r.Failed {
			tb.Errorf("to repeat: %s", Command(tb))
		}
		return
	}
}

// shares returns a function that returns for what share of the time since then processes
// waited for the busiest resource.
func shares(waits []func() (time.Duration, bool)) func() float64 {
	start := time.Now()
	var before []time.Duration
	for _, waited := range waits {
		total, _ := waited()
		before = append(before, total)
	}
	return func() (most float64) {
		for i, waited := range waits {
			if total, known := waited(); known {
				most = max(most, float64(total-before[i])/float64(time.Since(start)))
			}
		}
		return most
	}
}

// note reports a repetition.
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

// Stretch returns a limit for what must happen at some time: d, or up to three times as
// long on a machine that is crowded now.
func Stretch(d time.Duration) time.Duration { return time.Duration(Scale()) * d }
