package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// historyVariable names the file of the last runs.
const historyVariable = "LEADERRUN_TEST_HISTORY"

// kept is how many runs of all tests are remembered. A test that was repeated often or more in
// them is to be mended, whatever excuses each repetition.
const (
	kept  = 20
	often = 3
)

// A run is what one run of all tests repeated.
type run struct {
	Date     time.Time
	Commit   string
	Tests    int // that race the clock
	Repeated []trial.Record
}

func newRun(records []trial.Record) (r run) {
	for _, one := range records {
		if one.Failure == "" {
			r.Tests++
		} else {
			r.Repeated = append(r.Repeated, one)
		}
	}
	return r
}

// tests returns how often each test was repeated.
func (r run) tests() map[string]int {
	n := map[string]int{}
	for _, one := range r.Repeated {
		n[one.Test+" of "+one.Package]++
	}
	return n
}

// A history has the last runs, the latest last.
type history []run

func readHistory(name string) (h history, err error) {
	text, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	for line := range strings.Lines(string(text)) {
		var r run
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		h = append(h, r)
	}
	return h, err
}

func (h history) add(r run) history {
	h = append(h, r)
	return h[max(0, len(h)-kept):]
}

// write replaces the file in one step.
func (h history) write(name string) error {
	var text []byte
	for _, r := range h {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		return err
	}
	if err := os.WriteFile(name+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// print describes the latest run, and what is to be mended.
func (h history) print(w io.Writer) {
	last := h[len(h)-1]
	repeated := last.tests()
	fmt.Fprintf(w, "%d of %d tests that race the clock were repeated (%.1f %%), %d times in all.\n",
		len(repeated), last.Tests, 100*float64(len(repeated))/float64(max(1, last.Tests)), len(last.Repeated))
	for _, one := range last.Repeated {
		fmt.Fprintf(w, "  %v\n", one)
	}
	all := map[string]int{}
	for _, r := range h {
		for test, n := range r.tests() {
			all[test] += n
		}
	}
	maps.DeleteFunc(all, func(_ string, n int) bool { return n < often })
	if len(all) > 0 {
		fmt.Fprintf(w, "To be mended: repeated %d times or more in the last %d runs:\n", often, len(h))
	}
	for _, test := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(w, "  %s: %d times\n", test, all[test])
	}
}
