package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/clock"
)

// A Verdict is what was found in a history.
type Verdict struct {
	Wrong   []string // violations; none: it is as it must be
	Figures Figures
	Picture string // of an illegal history, a file to look at with a browser; empty: there is none

	options Options
	history History
	began   clock.Instant // before all else
	faults  []trace.Entry // by their beginnings
	shown   []*term       // what the first violation that has any is about
}

// complain notes a violation, and the terms that it is about.
func (v *Verdict) complain(what string, terms ...*term) {
	v.Wrong = append(v.Wrong, what)
	terms = slices.DeleteFunc(terms, func(t *term) bool { return t == nil })
	if len(v.shown) == 0 || len(terms) > 1 && len(v.shown) == 1 {
		v.shown = terms
	}
}

// most is how many violations are told.
const most = 20

// String tells what is wrong, and what is needed to find out why: the seed, the
// faults around the first violation, and what was written down of the terms that it
// is about. It tells nothing if nothing is wrong.
func (v *Verdict) String() string {
	if len(v.Wrong) == 0 {
		return ""
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%d violations, seed %d\n", len(v.Wrong), v.options.Seed)
	for _, w := range v.Wrong[:min(len(v.Wrong), most)] {
		fmt.Fprintf(&s, "  %s\n", w)
	}
	if n := len(v.Wrong) - most; n > 0 {
		fmt.Fprintf(&s, "  and %d more\n", n)
	}
	if v.Picture != "" {
		fmt.Fprintf(&s, "picture: %s\n", v.Picture)
	}
	v.writeSchedule(&s)
	v.writeExcerpt(&s)
	return s.String()
}
