// Command again judges the tests that have failed in `make test`, and those that were repeated.
//
//	again repeat    repeats the tests that failed according to bin/raced.log and
//	                bin/stores.log, each alone, if the machine was too busy to judge them:
//	                processes waited for a processor or a disk for half of the time or more,
//	                according to /proc/pressure, of which bin/pressure is a copy from the
//	                beginning
//	again report    prints which tests were repeated, by themselves (package trial) or here,
//	                and which of them too often in the last runs
//
// It repeats nothing after what nothing excuses ([trial.Final]), after a data race, a crash or
// a timeout, nor if many tests have failed, nor if a drawn schedule has: then another one would
// run.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// tooMany failed tests are not repeated, and neither are those that failed while processes
// waited for less than busy of the time.
const (
	tooMany = 9
	busy    = 0.5
)

// A line is one go test of the Makefile.
type line struct {
	log   string
	flags []string
	env   []string
}

func lines() []line {
	return []line{
		{"bin/raced.log", strings.Fields(os.Getenv("RACE")), nil},
		{"bin/stores.log", []string{"-trimpath"}, []string{"CGO_ENABLED=0"}},
	}
}

func main() {
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "repeat":
		err = repeat()
	case len(os.Args) == 2 && os.Args[1] == "report":
		err = report(os.Stdout)
	default:
		err = errors.New("usage: again repeat|report")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// repeat repeats the failed tests of all lines.
func repeat() error {
	show := exec.Command(".ci/failures", "bin/raced.log", "bin/stores.log")
	show.Stdout, show.Stderr = os.Stdout, os.Stderr
	if err := show.Run(); err != nil {
		return err
	}
	all := make([][]failure, 2)
	for i, l := range lines() {
		text, err := os.ReadFile(l.log)
		if err != nil {
			return err
		}
		if all[i], err = failures(string(text)); err != nil {
			return fmt.Errorf("%s: %w", l.log, err)
		}
	}
	waited, known := waited()
	if err := refuse(append(all[0], all[1]...), waited, known); err != nil {
		return err
	}
	for i, l := range lines() {
		for _, f := range all[i] {
			if err := l.repeat(f, waited); err != nil {
				return err
			}
		}
	}
	return nil
}

// refuse returns why these failures are not repeated, or nil.
func refuse(all []failure, waited float64, known bool) error {
	for _, f := range all {
		if f.test == "" {
			return fmt.Errorf("not repeated: %s: %s", f.pkg, cmp.Or(f.why, "it failed outside of tests"))
		}
	}
	switch {
	case len(all) == 0:
		return errors.New("go test failed outside of tests")
	case len(all) >= tooMany:
		return fmt.Errorf("not repeated: %d tests failed", len(all))
	case !known:
		return errors.New("not repeated: this system does not report whether it is busy")
	case waited < busy:
		return fmt.Errorf("not repeated: processes waited for %.0f %% of the time, and the machine was not too busy", 100*waited)
	}
	return nil
}

// repeat repeats one test alone, and records that.
func (l line) repeat(f failure, waited float64) error {
	start := time.Now()
	args := append([]string{"test", "-count", "1", "-vet=off", "-tags", os.Getenv("TAGS"), "-timeout", "20m", "-run", "^" + f.test + "$"}, l.flags...)
	cmd := exec.Command("go", append(args, f.pkg)...)
	cmd.Env = append(os.Environ(), l.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		_, _ = os.Stdout.Write(out)
		return fmt.Errorf("%s of %s failed, and failed again alone", f.test, f.pkg)
	}
	return trial.Record{Test: f.test, Package: f.pkg, Failure: f.assertion, Scale: 1, Waited: waited, Took: time.Since(start)}.Add(os.Getenv(trial.RecordsVariable))
}

// waited returns for what share of the time since bin/pressure was written processes waited
// for the busiest resource.
func waited() (share float64, known bool) {
	before, err := os.ReadFile("bin/pressure")
	if err != nil {
		return 0, false
	}
	info, err := os.Stat("bin/pressure")
	if err != nil {
		return 0, false
	}
	then := totals(string(before))
	for i, resource := range []string{"cpu", "io"} {
		text, err := os.ReadFile("/proc/pressure/" + resource)
		now := totals(string(text))
		if err != nil || len(now) == 0 || len(then) <= i {
			return 0, false
		}
		share = max(share, float64(now[0]-then[i])/float64(time.Since(info.ModTime())))
	}
	return share, true
}

// totals returns how long some process waited, from each resource's file.
func totals(text string) (all []time.Duration) {
	for line := range strings.Lines(text) {
		if _, total, ok := strings.Cut(line, "total="); ok && strings.HasPrefix(line, "some ") {
			micros, _ := strconv.ParseInt(strings.TrimSpace(total), 10, 64)
			all = append(all, time.Duration(micros)*time.Microsecond)
		}
	}
	return all
}

// report prints what was repeated in this run, and what too often in the last ones.
func report(w io.Writer) error {
	records, err := trial.Records(os.Getenv(trial.RecordsVariable))
	if err != nil {
		return err
	}
	name := os.Getenv(historyVariable)
	h, err := readHistory(name)
	if err != nil {
		return err
	}
	if len(h) == 0 {
		fmt.Fprintf(w, "There is no record of earlier runs in %s; this run begins one.\n", name)
	}
	commit, _ := exec.Command("git", "rev-parse", "--short", "HEAD").Output() // "" outside of a repository
	r := newRun(records)
	r.Date, r.Commit = time.Now().UTC().Truncate(time.Second), strings.TrimSpace(string(commit))
	h = h.add(r)
	h.print(w)
	return h.write(name)
}
