package trial

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// RecordsVariable names a file to which Steady adds a Record, in JSON, for each test that it
// runs and for each repetition, so that a run of all tests can count them.
const RecordsVariable = "LEADERRUN_TEST_RECORDS"

// A Record is about one test that races the clock: without a Failure that it was run, and
// otherwise that it has failed and is repeated.
type Record struct {
	Test, Package string
	Failure       string        `json:",omitempty"` // the assertion that failed first
	Scale         int           `json:",omitempty"` // of the attempt that failed
	Waited        float64       `json:",omitempty"` // the share of its time in which processes waited
	Took          time.Duration `json:",omitempty"` // in nanoseconds
}

// String describes a repetition.
func (r Record) String() string {
	return fmt.Sprintf("%s of %s failed, at scale %d, while processes waited for a processor or a disk for %.0f %% of %v: %s",
		r.Test, r.Package, r.Scale, 100*r.Waited, r.Took.Round(time.Millisecond), r.Failure)
}

// record adds a record about a test.
func record(tb testing.TB, r Record) {
	tb.Helper()
	name := os.Getenv(RecordsVariable)
	if name == "" {
		return
	}
	if err := r.Add(name); err != nil {
		tb.Error(err)
	}
}

// Add appends to a file that several processes append to: each record is one write.
func (r Record) Add(name string) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.Write(append(line, '\n'))
	return err
}

// Records reads the records of a file. A missing file has none.
func Records(name string) (all []Record, err error) {
	text, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	for line := range strings.Lines(string(text)) {
		var r Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, r)
	}
	return all, err
}

// longest is how much of a failure is kept, in bytes.
const longest = 300

func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if cut := locks.Cut(text, longest); cut != text {
		return cut + "…"
	}
	return text
}
