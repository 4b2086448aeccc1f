package trial

import (
	"testing"
	"time"
)

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
// report it, the first failure counts. So does any failure of [Final].
func Steady(tb testing.TB, f func(tb testing.TB, scale int)) {
	tb.Helper()
	steady(tb, f, Waited, waitedForDisk)
}

// SteadyAt is Steady on a machine that is as busy as share says, for tests of what Steady
// repeats.
func SteadyAt(tb testing.TB, share float64, f func(tb testing.TB, scale int)) {
	tb.Helper()
	start := time.Now()
	steady(tb, f, func() (time.Duration, bool) { return time.Duration(share * float64(time.Since(start))), true })
}

func steady(tb testing.TB, f func(tb testing.TB, scale int), waits ...func() (time.Duration, bool)) {
	tb.Helper()
	record(tb, Record{Test: tb.Name(), Package: tested()})
	for scale, n := Scale(), 1; ; scale, n = 2*scale, n+1 {
		start := time.Now()
		share := shares(waits)
		r := Run(tb, func(tb testing.TB) { f(tb, scale) })
		waited := share()
		if r.Failed && !r.Final && n < attempts && waited >= busy {
			again := Record{Test: tb.Name(), Package: tested(), Failure: oneLine(r.Failure), Scale: scale, Waited: waited, Took: time.Since(start)}
			record(tb, again)
			tb.Logf("it is repeated: %v\n%s", again, r.Log)
			continue
		}
		if r.Skipped {
			tb.Skip(r.Log)
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

// Stretch returns a limit for what must happen at some time: d, or up to three times as
// long on a machine that is crowded now.
func Stretch(d time.Duration) time.Duration { return time.Duration(Scale()) * d }
