package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A Verdict is what was found in a history.
type Verdict struct {
	Wrong   []string // violations; empty if there are none
	Figures Figures
	Picture string // a file to view in a browser, if the history is illegal; otherwise empty

	options Options
	history History
	began   clock.Instant // before anything else
	terms   []*term
	faults  []trace.Entry // by their beginnings
	shown   []*term       // the terms of the first violation that has any
}

// complain records a violation, and the terms that it is about.
func (v *Verdict) complain(what string, terms ...*term) {
	v.Wrong = append(v.Wrong, what)
	terms = slices.DeleteFunc(terms, func(t *term) bool { return t == nil })
	if len(v.shown) == 0 || len(terms) > 1 && len(v.shown) == 1 {
		v.shown = terms
	}
}

// Join adds the verdict on another slot of the lock.
func (v *Verdict) Join(w *Verdict) {
	v.Figures.Add(w.Figures)
	v.Wrong = append(v.Wrong, w.Wrong...)
	if len(v.shown) == 0 {
		v.history, v.shown, v.Picture = w.history, w.shown, cmp.Or(v.Picture, w.Picture)
	}
}

// most is how many violations of one kind are printed: one defect can cause a thousand of
// one kind, and few of the kind that explains it.
const most = 10

// shortened returns the violations to print, and the number of the others. Violations of
// one kind begin with the same words, up to a number or a colon.
func (v *Verdict) shortened() (some []string, more int) {
	seen := map[string]int{}
	for _, w := range v.Wrong {
		kind := w
		if i := strings.IndexAny(w, ":0123456789"); i >= 0 {
			kind = w[:i]
		}
		if seen[kind]++; seen[kind] <= most {
			some = append(some, w)
		} else {
			more++
		}
	}
	return some, more
}

// String describes what is wrong, and gives what is needed to find out why: the seed, the
// faults around the first violation, and the records of its terms. It is empty if nothing
// is wrong.
func (v *Verdict) String() string {
	if len(v.Wrong) == 0 {
		return ""
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%d violations, seed %d\n", len(v.Wrong), v.options.Seed)
	some, more := v.shortened()
	for _, w := range some {
		fmt.Fprintf(&s, "  %s\n", w)
	}
	if more > 0 {
		fmt.Fprintf(&s, "  and %d more\n", more)
	}
	if v.Picture != "" {
		fmt.Fprintf(&s, "picture: %s\n", v.Picture)
	}
	v.writeSchedule(&s)
	v.writeExcerpt(&s)
	return s.String()
}
