package main

import (
	"fmt"
	"go/ast"
	"strings"
	"time"
)

// A mutant is one change of the code.
type mutant struct {
	n     int // its number, for the test programs
	key   string
	where string // its position, and the text that changes
	pkg   *pkg
	result
}

// A result says whether a test has noticed a mutant.
type result string

const (
	notRun     result = "not run"
	tooLate    result = "no time"
	caught     result = "caught"
	hangs      result = "hangs" // so it is noticed
	survived   result = "survived"
	notReached result = "not reached" // no test comes to where the mutant makes a difference
)

// add adds a mutant to the code of a function. It puts a node between two texts; open has %d
// for the mutant's number.
func (f *function) add(n ast.Node, operator, open, end string) {
	f.counts[operator]++
	text, more, _ := strings.Cut(string(f.source[f.offset(n.Pos()):f.offset(n.End())]), "\n")
	if more != "" {
		text += " …"
	}
	m := &mutant{
		n:      len(f.all.mutants),
		key:    fmt.Sprintf("%s %s %s %d", f.pkg.name, f.name, operator, f.counts[operator]),
		where:  fmt.Sprintf("%s: %s", f.pkg.fset.Position(n.Pos()), text),
		pkg:    f.pkg,
		result: notRun,
	}
	f.all.mutants = append(f.all.mutants, m)
	f.insert(n, fmt.Sprintf(open, m.n), end)
}

// judge runs the tests that may notice the mutant, unless it is too late.
func (m *mutant) judge(until time.Time) {
	m.result = notReached
	for _, s := range m.pkg.suites {
		if !s.reached[m.n] {
			continue
		}
		if time.Now().After(until) {
			m.result = tooLate
			return
		}
		if m.result = s.judge(m.n); m.result != survived {
			return
		}
	}
}
