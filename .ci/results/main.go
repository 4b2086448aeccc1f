// Results reads the output of go test -json. It shows what each failed test has printed, and at
// the end how many passed, and how many were skipped, where and why. It fails if a test has.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// An event is one of those that go doc test2json describes. Of a package as a whole, Test is
// empty.
type event struct{ Action, Package, Test, Output string }

// A test is identified by its package and its name.
type test struct{ pkg, name string }

// Results are what is known so far.
type results struct {
	said    map[test][]string // by tests that have not ended
	passed  int
	failed  int
	skipped map[string]map[string]int // by kind and package
}

// kinds are those of reasons for which tests are skipped. The first that matches counts.
var kinds = []struct {
	name   string
	reason *regexp.Regexp
}{
	{"without servers (make servers)", regexp.MustCompile("make servers")},
	{"without root", regexp.MustCompile("root|not permitted|permission denied|the right to|namespace|cgroup")},
	{"for other reasons (go test -v)", regexp.MustCompile("")},
}

func main() {
	r := results{said: map[test][]string{}, skipped: map[string]map[string]int{}}
	for d := json.NewDecoder(os.Stdin); ; {
		var e event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			fmt.Fprintln(os.Stderr, "results:", err)
			os.Exit(1)
		}
		r.add(e)
	}
	r.report()
	if r.failed > 0 || r.passed == 0 {
		os.Exit(1)
	}
}

func (r *results) add(e event) {
	t := test{strings.TrimPrefix(e.Package, "github.com/leaderrun/leaderrun/"), e.Test}
	switch e.Action {
	case "build-output":
		fmt.Print(e.Output)
		return
	case "output":
		r.said[t] = append(r.said[t], e.Output)
		return
	case "fail":
		r.failed++
		fmt.Printf("FAIL %s %s\n%s", t.pkg, t.name, strings.Join(r.said[t], ""))
		if t.name == "" {
			r.unfinished(t.pkg)
		}
	case "pass":
		if t.name != "" {
			r.passed++
		}
	case "skip":
		if t.name != "" {
			r.skip(t)
		}
	default:
		return
	}
	delete(r.said, t)
}

// unfinished shows the ends of what those tests have printed that had not ended when their
// process did, as after a panic.
func (r *results) unfinished(pkg string) {
	for t, said := range r.said {
		if t.pkg == pkg && t.name != "" {
			fmt.Printf("unfinished: %s %s\n%s", pkg, t.name, strings.Join(said[max(0, len(said)-50):], ""))
			delete(r.said, t)
		}
	}
}

// skip counts a skipped test.
func (r *results) skip(t test) {
	said := strings.Join(r.said[t], "")
	for _, kind := range kinds {
		if kind.reason.MatchString(said) {
			if r.skipped[kind.name] == nil {
				r.skipped[kind.name] = map[string]int{}
			}
			r.skipped[kind.name][t.pkg]++
			return
		}
	}
}

func (r *results) report() {
	fmt.Printf("%d tests and parts of tests passed, %d failed\n", r.passed, r.failed)
	for _, kind := range kinds {
		all, in := 0, []string{}
		for _, pkg := range slices.Sorted(maps.Keys(r.skipped[kind.name])) {
			all += r.skipped[kind.name][pkg]
			in = append(in, fmt.Sprintf("%s %d", pkg, r.skipped[kind.name][pkg]))
		}
		if all > 0 {
			fmt.Printf("skipped %s: %d (%s)\n", kind.name, all, strings.Join(in, ", "))
		}
	}
}
