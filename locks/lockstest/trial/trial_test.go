package trial

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRun checks that the outcome of a trial does not affect the test.
func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name            string
		f               func(tb testing.TB)
		failed, skipped bool
		log             string
	}{
		{"pass", func(tb testing.TB) { tb.Logf("a %d", 1) }, false, false, "trial_test.go:20: a 1"},
		{"error", func(tb testing.TB) { tb.Error("a", "b"); tb.Log("goes on") }, true, false, "goes on"},
		{"fatal", func(tb testing.TB) { tb.Fatal("the end"); panic("unreachable") }, true, false, "the end"},
		{"helper", func(tb testing.TB) { complain(tb) }, true, false, "trial_test.go:23: complaint"},
		{"panic", func(testing.TB) { panic(errors.New("oops")) }, true, false, "panic: oops"},
		{"skip", func(tb testing.TB) { tb.Skip("no server"); panic("unreachable") }, false, true, "no server"},
		{"clean-up", func(tb testing.TB) {
			tb.Cleanup(func() { tb.Log("last") })
			tb.Cleanup(func() { tb.Fatal("first") })
		}, true, false, "last"},
		{"context", func(tb testing.TB) {
			tb.Cleanup(func() { tb.Log(tb.Context().Err()) })
		}, false, false, "context canceled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Run(t, tt.f)
			if r.Failed != tt.failed || r.Skipped != tt.skipped || !strings.Contains(r.Log, tt.log) {
				t.Errorf("got %+v; want failed %v, skipped %v, and %q in the log", r, tt.failed, tt.skipped, tt.log)
			}
		})
	}
}

func complain(tb testing.TB) {
	tb.Helper()
	tb.Error("complaint")
}

// TestSteady checks that a test is repeated only if processes had to wait, and not
// forever.
func TestSteady(t *testing.T) {
	for _, tt := range []struct {
		name   string
		share  float64 // of the time, during which processes waited for a processor
		disk   float64 // and for a disk
		fails  int     // how many of the first attempts fail
		runs   int
		failed bool
	}{
		{"passes", 1, 1, 0, 1, false},
		{"fails on an idle machine", 0.1, 0.1, 1, 1, true},
		{"fails once on a busy machine", 1, 0, 1, 2, false},
		{"fails once with a busy disk", 0.1, 1, 1, 2, false},
		{"always fails", 1, 0, 100, attempts, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "repeats")
			t.Setenv(RepeatsVariable, file)
			runs, last, start := 0, 0, time.Now()
			waited := func(share float64) func() (time.Duration, bool) {
				return func() (time.Duration, bool) { return time.Duration(share * float64(time.Since(start))), true }
			}
			r := Run(t, func(tb testing.TB) {
				steady(tb, func(tb testing.TB, scale int) {
					if runs++; scale <= last {
						tb.Errorf("scale %d after %d", scale, last)
					}
					last = scale
					time.Sleep(5 * time.Millisecond)
					if runs <= tt.fails {
						tb.Fatal("too late")
					}
				}, waited(tt.share), waited(tt.disk))
			})
			if runs != tt.runs || r.Failed != tt.failed {
				t.Errorf("%d runs, failed: %v; want %d, %v\n%s", runs, r.Failed, tt.runs, tt.failed, r.Log)
			}
			text, _ := os.ReadFile(file)
			if got := strings.Count(string(text), "\n"); got != tt.runs-1 {
				t.Errorf("%d repetitions were counted; want %d:\n%s", got, tt.runs-1, text)
			}
			if tt.failed && !strings.Contains(r.Log, "go test -count 1 -v -run '^TestSteady$/") {
				t.Errorf("the log does not say how to repeat the test:\n%s", r.Log)
			}
		})
	}
}

// TestWaited checks that Linux reports the time.
func TestWaited(t *testing.T) {
	if _, err := os.Stat(pressureFiles); err != nil {
		t.Skip(err)
	}
	for name, waited := range map[string]func() (time.Duration, bool){"cpu": Waited, "io": waitedForDisk} {
		if total, known := waited(); !known || total <= 0 {
			t.Errorf("%s: got %v, %v", name, total, known)
		}
	}
	if s := Scale(); s < 1 || s > 3 {
		t.Errorf("the scale is %d", s)
	}
}
