package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

const passed = "ok  \texample.com/a\t1.2s\n"

// late is the output of a test that was too late.
const late = `--- FAIL: TestA (1.00s)
    --- FAIL: TestA/x (1.00s)
        a_test.go:1: fine so far
        a_test.go:2: too late
        process.go:75: the end of the log of a server:
        a_test.go:3: to repeat: go test -count 1 -v -run '^TestA$/^x$' example.com/b
FAIL
FAIL	example.com/b	3.4s
`

// TestRepeat checks which failures are repeated.
func TestRepeat(t *testing.T) {
	inside := func(line string) string { return strings.Replace(late, "FAIL\nFAIL", line+"\nFAIL\nFAIL", 1) }
	for _, tt := range []struct {
		name   string
		log    string
		waited float64
		known  bool
		want   string // why nothing is repeated
	}{
		{"one that was late", passed + late, 0.7, true, ""},
		{"on an idle machine", passed + late, 0.4, true, "the machine was not too busy"},
		{"on an unknown machine", passed + late, 0, false, "does not report whether it is busy"},
		{"two holders", inside("    " + trial.FinalMark + "2 hold the lock at once, and 1 may"), 1, true, "example.com/b: a failure that nothing excuses"},
		{"a falling token, in another test", inside("--- FAIL: TestB (0.1s)\n    b_test.go:7: " + trial.FinalMark + "a got token 3"), 1, true, "a failure that nothing excuses"},
		{"a data race", inside("WARNING: DATA RACE"), 1, true, "a data race"},
		{"a panic", inside("panic: oops"), 1, true, "a crash or a timeout"},
		{"a drawn schedule", inside("    1 violations, seed 7"), 1, true, "a drawn schedule"},
		{"outside of tests", "FAIL\texample.com/b [build failed]\n", 1, true, "example.com/b: it failed outside of tests"},
		{"nothing", passed, 1, true, "outside of tests"},
		{"too many", strings.Repeat(late, tooMany), 1, true, fmt.Sprint(tooMany, " tests failed")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all, err := failures(tt.log + "go test: 1\n")
			if err != nil {
				t.Fatal(err)
			}
			switch err := refuse(all, tt.waited, tt.known); {
			case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := failures(passed + late); err == nil {
		t.Error("a log that was cut off is judged")
	}
	if all, _ := failures(late + "go test: 1"); len(all) != 1 || all[0] != (failure{"TestA", "example.com/b", "a_test.go:2: too late", ""}) {
		t.Errorf("got %+v", all)
	}
}

// TestReport has three runs, in each of which one test is repeated.
func TestReport(t *testing.T) {
	t.Setenv(trial.RecordsVariable, filepath.Join(t.TempDir(), "records"))
	t.Setenv(historyVariable, filepath.Join(t.TempDir(), "cache", "repetitions"))
	for _, r := range []trial.Record{
		{Test: "TestA", Package: "p"}, {Test: "TestB", Package: "p"},
		{Test: "TestA", Package: "p", Failure: "a_test.go:2: too late", Scale: 1, Waited: 0.7},
	} {
		if err := r.Add(os.Getenv(trial.RecordsVariable)); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	for n := 1; n <= kept+1; n++ {
		out.Reset()
		if err := report(&out); err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]bool{
			"There is no record of earlier runs":                                      n == 1,
			"1 of 2 tests that race the clock were repeated (50.0 %), 1 times":        true,
			"TestA of p failed, at scale 1, while":                                    true,
			": a_test.go:2: too late\n":                                               true,
			fmt.Sprintf("in the last %d runs:\n  TestA of p: %d times\n", n, n):       n >= often && n <= kept,
			fmt.Sprintf("in the last %d runs:\n  TestA of p: %d times\n", kept, kept): n >= kept,
		} {
			if got := strings.Contains(out.String(), text); got != want {
				t.Errorf("after %d runs: %q is there: %v, want %v:\n%s", n, text, got, want, &out)
			}
		}
	}
}
