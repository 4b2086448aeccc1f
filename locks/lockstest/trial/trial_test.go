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
			if r.Final != (tt.name == "panic") {
				t.Errorf("final is %v", r.Final)
			}
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

// TestSteady checks that a test is repeated only if processes had to wait, not forever, and
// never if nothing excuses its failure.
func TestSteady(t *testing.T) {
	for _, tt := range []struct {
		name   string
		share  float64 // of the time, during which processes waited
		fails  int     // how many of the first attempts fail
		final  bool
		runs   int
		failed bool
	}{
		{"passes", 1, 0, false, 1, false},
		{"fails on an idle machine", 0.1, 1, false, 1, true},
		{"fails once on a busy machine", 1, 1, false, 2, false},
		{"always fails", 1, 100, false, attempts, true},
		{"two holders on a busy machine", 1, 1, true, 1, true},
		{"two holders on an idle machine", 0.1, 1, true, 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "records")
			t.Setenv(RecordsVariable, file)
			runs, last := 0, 0
			r := Run(t, func(tb testing.TB) {
				SteadyAt(tb, tt.share, func(tb testing.TB, scale int) {
					if runs++; scale <= last {
						tb.Errorf("scale %d after %d", scale, last)
					}
					last = scale
					time.Sleep(5 * time.Millisecond)
					switch {
					case runs > tt.fails:
					case tt.final:
						Final(tb, "two holders")
						tb.Error("and too late")
					default:
						tb.Error("too\nlate")
						tb.Fatal("and something else")
					}
				})
			})
			if runs != tt.runs || r.Failed != tt.failed {
				t.Errorf("%d runs, failed: %v; want %d, %v\n%s", runs, r.Failed, tt.runs, tt.failed, r.Log)
			}
			if tt.runs > 1 && !strings.Contains(r.Log, "it is repeated: "+t.Name()+" of ") {
				t.Errorf("the log does not name what is repeated:\n%s", r.Log)
			}
			if tt.failed && !strings.Contains(r.Log, "go test -count 1 -v -run '^TestSteady$/") {
				t.Errorf("the log does not say how to repeat the test:\n%s", r.Log)
			}
			if strings.Contains(r.Log, FinalMark) != tt.final {
				t.Errorf("the log does not say whether the failure is final:\n%s", r.Log)
			}
			all, err := Records(file)
			if err != nil || len(all) != tt.runs {
				t.Fatalf("got %v, %v; want a record, and one for each of %d repetitions", all, err, tt.runs-1)
			}
			for _, again := range all[1:] {
				if again.Test != t.Name() || !strings.Contains(again.Failure, "trial_test.go:") || !strings.HasSuffix(again.Failure, ": too late") {
					t.Errorf("the record of a repetition is %+v; want the first assertion, in a line", again)
				}
			}
		})
	}
}

// TestLastWords has a test that logs why it fails, as package testscript does.
func TestLastWords(t *testing.T) {
	for log, want := range map[string]string{"> exits 3 x\n[stdout]\nFAIL: a.txtar:3: 1, want 3\n": "FAIL: a.txtar:3: 1, want 3", "too late": "trial_test.go:", "": "it says nothing"} {
		r := Run(t, func(tb testing.TB) {
			if log != "" {
				tb.Log(log)
			}
			tb.FailNow()
		})
		if !r.Failed || !strings.HasPrefix(r.Failure, want) {
			t.Errorf("got %+v, want %q", r, want)
		}
	}
}

// TestBusiest checks that it is the busiest resource that counts.
func TestBusiest(t *testing.T) {
	start := time.Now()
	waited := func(share float64) func() (time.Duration, bool) {
		return func() (time.Duration, bool) { return time.Duration(share * float64(time.Since(start))), true }
	}
	share := shares([]func() (time.Duration, bool){waited(0.1), waited(1), func() (time.Duration, bool) { return time.Hour, false }})
	time.Sleep(5 * time.Millisecond)
	if got := share(); got < 0.9 || got > 1.1 {
		t.Errorf("processes waited for %v of the time; want 1", got)
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
