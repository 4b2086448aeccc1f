package ledger

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func finish(t *testing.T, r *Record, spec string, windows ...int64) {
	t.Helper()
	for _, window := range windows {
		if err := r.Finish(spec, Run{Window: window, By: fmt.Sprint("host", window), At: window + 1, Token: uint64(window)}); err != nil {
			t.Fatal(err)
		}
	}
}

func isDone(r *Record, spec string, window int64) bool {
	_, done := r.Done(spec, window)
	return done
}

// TestDone: a window is done if it was run, under the same schedule.
func TestDone(t *testing.T) {
	t.Parallel()
	r := new(Record)
	finish(t, r, "day", 30, 10)
	if run, done := r.Done("day", 10); !done || run != (Run{Window: 10, By: "host10", At: 11, Token: 10}) {
		t.Errorf("got %+v, %v", run, done)
	}
	for _, window := range []int64{9, 11, 20, 31} {
		if isDone(r, "day", window) {
			t.Errorf("window %d is done", window)
		}
	}
	if isDone(r, "week", 10) {
		t.Error("another schedule's window is done")
	}
	if err := r.Finish("day", Run{Window: 10, By: "again"}); err != nil {
		t.Fatal(err)
	}
	if run, _ := r.Done("day", 10); run.By != "again" || len(r.runs[0].Done) != 2 {
		t.Errorf("after a second run of one window: %+v", r.runs)
	}
}

// TestOldRunsAreSuperseded: runs for which the list has no room stay done, and so do the windows
// between them that had no run.
func TestOldRunsAreSuperseded(t *testing.T) {
	t.Parallel()
	r := new(Record)
	for window := int64(0); window < 300; window += 10 {
		finish(t, r, "day", window)
	}
	for window := int64(-5); window <= 50; window += 5 {
		if run, done := r.Done("day", window); !done || run != (Run{Window: window}) {
			t.Errorf("window %d: got %+v, %v; want it superseded", window, run, done)
		}
	}
	if run, done := r.Done("day", 60); !done || run.By != "host60" {
		t.Errorf("the lowest run in the list: %+v, %v", run, done)
	}
	if isDone(r, "day", 65) || isDone(r, "day", 300) {
		t.Error("a window above the floor is done, though it is not listed")
	}
	finish(t, r, "day", 20) // it is below the floor
	if len(r.runs[0].Done) != maxDone || *r.runs[0].Floor != 50 {
		t.Errorf("after a late run: floor %d, %d runs", *r.runs[0].Floor, len(r.runs[0].Done))
	}
}

// TestFloor: a run at the floor is superseded, also if there is room for it, and the record stays
// one that can be read.
func TestFloor(t *testing.T) {
	t.Parallel()
	r := read(t, `{"v":1,"runs":[{"spec":"day","floor":50,"done":[{"slot":60}]}]}`)
	finish(t, r, "day", 50)
	if again := read(t, encode(t, r)); !isDone(again, "day", 50) || isDone(again, "day", 51) {
		t.Error("another window is done than those up to 50")
	}
}

// TestClockAYearAhead: a host whose clock is ahead finishes as many windows as the list has room
// for. The windows of the others are not done before they have run them.
func TestClockAYearAhead(t *testing.T) {
	t.Parallel()
	r := new(Record)
	finish(t, r, "10m", 1, 2, 3)
	for n := range int64(maxDone) {
		finish(t, r, "10m", 1_000_000+n)
		now := 4 + n
		if isDone(r, "10m", now) {
			t.Fatalf("window %d is done before it was run, after %d runs ahead", now, n+1)
		}
		finish(t, r, "10m", now)
		if !isDone(r, "10m", now) {
			t.Fatalf("window %d is not done, after %d runs ahead", now, n+1)
		}
	}
	for now := int64(100); now < 200; now++ {
		if isDone(r, "10m", now) {
			t.Fatalf("window %d is done before it was run", now)
		}
		finish(t, r, "10m", now)
	}
}

// TestNothingIsForgotten: whatever runs are added, in any order, everything that was done stays
// done.
func TestNothingIsForgotten(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	r := new(Record)
	done := map[int64]bool{}
	for range 2000 {
		window := random.Int64N(5000) - 1000
		finish(t, r, "day", window)
		done[window] = true
		if random.IntN(10) == 0 {
			r = read(t, encode(t, r))
		}
		for window := range done {
			if !isDone(r, "day", window) {
				t.Fatalf("window %d is forgotten", window)
			}
		}
	}
}

// TestFourSchedules: the schedule used least recently is dropped.
func TestFourSchedules(t *testing.T) {
	t.Parallel()
	r := new(Record)
	for _, spec := range []string{"a", "b", "c", "d", "a", "e"} {
		finish(t, r, spec, 1)
	}
	for spec, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true, "e": true} {
		if isDone(r, spec, 1) != want {
			t.Errorf("%s: done is %v; want %v", spec, !want, want)
		}
	}
}

// TestFinishBounds: Finish checks or cuts what its caller passes.
func TestFinishBounds(t *testing.T) {
	t.Parallel()
	r := new(Record)
	for _, spec := range []string{"", strings.Repeat("x", 129), "\xff"} {
		if err := r.Finish(spec, Run{}); err == nil {
			t.Errorf("%q is accepted", spec)
		}
	}
	for by, want := range map[string]string{
		strings.Repeat("x", 65):       strings.Repeat("x", 64),
		strings.Repeat("x", 63) + "é": strings.Repeat("x", 63),
		"host\xff\xfe/1":              "host?/1",
		strings.Repeat("x", 62) + "é" + strings.Repeat("y", 1<<20): strings.Repeat("x", 62) + "é",
	} {
		if err := r.Finish("day", Run{Window: 1, By: by}); err != nil {
			t.Fatal(err)
		}
		if run, _ := r.Done("day", 1); run.By != want {
			t.Errorf("%.70q: got %q, want %q", by, run.By, want)
		}
	}
}

// TestLast: the run that ended last counts, whatever its schedule and its window.
func TestLast(t *testing.T) {
	t.Parallel()
	r := new(Record)
	if schedule, run, ok := r.Last(); ok {
		t.Errorf("of an empty record: %q, %+v", schedule, run)
	}
	finish(t, r, "week", -1) // at 0, which is not known
	if schedule, _, ok := r.Last(); schedule != "week" || !ok {
		t.Errorf("got %q, %v", schedule, ok)
	}
	for _, next := range []struct {
		schedule string
		run      Run
	}{{"hour", Run{Window: 9, At: 6}}, {"day", Run{Window: 1, At: 7}}, {"day", Run{Window: 2, At: 5}}} {
		if err := r.Finish(next.schedule, next.run); err != nil {
			t.Fatal(err)
		}
	}
	if schedule, run, ok := r.Last(); schedule != "day" || run != (Run{Window: 1, At: 7}) || !ok {
		t.Errorf("got %q, %+v, %v", schedule, run, ok)
	}
}

// A run that its own term takes back is not done, and other runs are.
func TestUnfinish(t *testing.T) {
	t.Parallel()
	var r Record
	for window := range int64(3) {
		if err := r.Finish("day", Run{Window: window, Token: 7 + uint64(window)}); err != nil {
			t.Fatal(err)
		}
	}
	r.Unfinish("night", 1, 8)
	r.Unfinish("day", 1, 7) // another term's
	r.Unfinish("day", 2, 9)
	r.Unfinish("day", 3, 10) // it has not run
	for window, want := range []bool{true, true, false} {
		if _, done := r.Done("day", int64(window)); done != want {
			t.Errorf("window %d is done: %v, want %v", window, done, want)
		}
	}
}
