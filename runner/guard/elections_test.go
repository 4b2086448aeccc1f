package guard

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// seedVariable replays one schedule, and logs what happens in it. fromVariable is the seed
// from which to count, for other schedules than the usual ones.
const (
	seedVariable = "ELECTIONS_SEED"
	fromVariable = "ELECTIONS_FROM"
)

// replay returns the command that replays a schedule.
func replay(seed uint64) string {
	return fmt.Sprintf("%s=%d go test -count 1 -v -run 'TestElections$' ./runner/guard", seedVariable, seed)
}

// elections returns the minimum number of elections of TestElections. With the race detector
// a sample is enough, because all schedules have the same goroutines.
func elections() int64 {
	switch {
	case raced:
		return 300
	case os.Getenv("LEADERRUN_TEST_LONG") == "1":
		return 100_000
	}
	return 20_000
}

// sample returns how many of n schedules a test plays.
func sample(n int) int {
	if raced {
		return n / 5
	}
	return n
}

// TestElections is the deterministic tier of the fault suite. It runs the real runner, the
// real renewals and both sides of the real guard on several hosts that compete for one lock,
// in simulated time. The store, the network, the job and the processes are models. Each seed
// is a schedule of faults. The promises are checked in true time, which no host can see.
//
//   - Every host has its own boot clock, wrong by up to 500 ppm, as is the store's. That is the
//     guarantee; clocks that are wrong by more are detected, and a test shows it.
//   - A frozen process has a stopped clock and a closed gate: nothing that it does is visible
//     before it continues. A dead process never passes the gate again. Of the two processes on a
//     host, one is broken at a time, because no more is guaranteed.
//   - When a job ends, its lease must still run. Two jobs are never alive at once. Tokens rise. No
//     lock is released over a living job. The E that leaderrun believes in, or reports to the
//     guard, is never after the end of the lease. Nothing is renewed after E. Without a fault no
//     job is ended, and a lock that was taken away is noticed at the next renewal. Somebody leads
//     again when the faults are over. Nothing hangs, and no goroutine is left.
//   - Two cases are excused and counted: a job may run after an early revoke or an operator's
//     deletion, until the lease would have ended; and on a machine that slept at least until the
//     job had to be killed, after waking up for as long as the job takes to die. In half of the
//     schedules there are no timers like those of Linux, and an eighth of the lease is added, at
//     most a second.
//   - The models leave out sockets, signals, process trees, real backends and helpers. Nothing
//     reads the date, so it is never set. Other tests cover all of these.
//
// The test keeps all processors busy, so it does not run in parallel with tests of real
// processes.
func TestElections(t *testing.T) {
	if seed := seedIn(t, seedVariable); seed != 0 {
		for _, e := range election(t, seed).trace {
			t.Log(e)
		}
		return
	}
	total := tally{faults: map[kind]int{}, excused: map[string]int{}, slack: time.Hour}
	var mu sync.Mutex
	var seeds atomic.Uint64
	from := seedIn(t, fromVariable)
	enough := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return t.Failed() || int64(total.elections) >= elections()
	}
	t.Run("schedules", func(t *testing.T) {
		for n := range runtime.GOMAXPROCS(0) {
			t.Run(strconv.Itoa(n), func(t *testing.T) {
				t.Parallel()
				for !enough() {
					w := election(t, from+seeds.Add(1))
					mu.Lock()
					total.add(w.tally)
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d schedules\n%v", seeds.Load(), &total)
}

// seedIn returns the seed in an environment variable, or 0.
func seedIn(t *testing.T, variable string) uint64 {
	text := os.Getenv(variable)
	if text == "" {
		return 0
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return seed
}

// election plays one schedule and checks the promises.
func election(t *testing.T, seed uint64) *world {
	t.Helper()
	w := play(t, newPlan(seed))
	if len(w.wrong) > 0 {
		t.Errorf("%s\nbroken promises: %v; first %s\n%v", replay(seed), w.broke, w.wrong[0], w.plan)
	}
	return w
}

// play plays one schedule. That takes some milliseconds.
func play(t *testing.T, p plan) (w *world) {
	defer time.AfterFunc(time.Minute, func() {
		panic(fmt.Sprintf("%s\nit hangs\n%v", replay(p.seed), p))
	}).Stop()
	defer func() {
		if r := recover(); r != nil { // for example because a goroutine is left
			stacks := make([]byte, 1<<20)
			t.Fatalf("%s\n%v\n%v\n%s", replay(p.seed), r, p, stacks[:runtime.Stack(stacks, true)])
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(t, p)
		w.run()
	})
	return w
}

// With clocks that are wrong by more than the promise allows, the oracles find broken
// promises.
func TestElectionsCanFail(t *testing.T) {
	for _, wrong := range []int64{-100_000, -5000} {
		broken, all := 0, sample(20)
		for seed := range all {
			p := newPlan(uint64(seed))
			for i := range p.ppm {
				p.ppm[i] = wrong
			}
			if w := play(t, p); len(w.wrong) > 0 {
				broken++
			}
		}
		if t.Logf("clocks of %d ppm: found broken promises in %d of %d schedules", wrong, broken, all); broken < all*3/4 {
			t.Error("want broken promises found in at least three quarters")
		}
	}
}

func (a *tally) add(b tally) {
	a.elections += b.elections
	for k, n := range b.faults {
		a.faults[k] += n
	}
	for k, n := range b.excused {
		a.excused[k] += n
	}
	a.slack, a.outrun = min(a.slack, b.slack), max(a.outrun, b.outrun)
}

func (a *tally) String() string {
	text := fmt.Sprintf("%d elections, least slack %v, longest run after an eviction %v", a.elections, a.slack, a.outrun)
	for _, k := range slices.Sorted(maps.Keys(a.faults)) {
		text += fmt.Sprintf("\n%7d %s", a.faults[k], k)
	}
	for _, k := range slices.Sorted(maps.Keys(a.excused)) {
		text += fmt.Sprintf("\n%7d excused: %s", a.excused[k], k)
	}
	return text
}
