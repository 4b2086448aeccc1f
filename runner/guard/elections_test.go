//go:build unix

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

// seedVariable replays one schedule.
const seedVariable = "ELECTIONS_SEED"

// elections is how many TestElections has, at least.
func elections() int64 {
	switch {
	case raced:
		return 5_000
	case testing.Short():
		return 10_000
	}
	return 100_000
}

// TestElections is the deterministic tier of the fault suite: the real runner, the
// real renewals and both sides of the real guard, on several hosts that compete
// for one lock, in time that costs nothing. The store, the network, the job and
// the processes are models. Each seed is a schedule of faults; what is promised is
// judged in true time, which nobody in there can see.
func TestElections(t *testing.T) {
	t.Parallel()
	if text := os.Getenv(seedVariable); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", seedVariable, err)
		}
		w := election(t, seed)
		for _, e := range w.trace {
			t.Log(e)
		}
		return
	}
	total := tally{faults: map[kind]int{}, excused: map[string]int{}, slack: time.Hour}
	var mu sync.Mutex
	var seeds atomic.Uint64
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
					w := election(t, seeds.Add(1))
					mu.Lock()
					total.add(w.tally)
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d schedules\n%v", seeds.Load(), &total)
}

// election runs one schedule.
func election(t *testing.T, seed uint64) (w *world) {
	t.Helper()
	p := newPlan(seed)
	defer func() {
		if r := recover(); r != nil { // such as a goroutine that is left
			stacks := make([]byte, 1<<20)
			t.Errorf("%s=%d: %v\n%v\n%s", seedVariable, seed, r, p, stacks[:runtime.Stack(stacks, true)])
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(t, p)
		w.run()
	})
	if len(w.wrong) > 0 {
		t.Errorf("%s=%d: %d promises broken; the first: %s\n%v", seedVariable, seed, len(w.wrong), w.wrong[0], p)
	}
	return w
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
