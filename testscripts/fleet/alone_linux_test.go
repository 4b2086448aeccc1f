package fleet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// A stay is a process, or several that belong together, that must be alone while
// it lives.
type stay struct {
	trace.Entry
	trace.Span
}

// stays returns those of the entries that tell of a beginning, with their lives,
// by their beginnings.
func stays(entries []trace.Entry) ([]stay, error) {
	var all []stay
	for _, e := range entries {
		if e.Kind != trace.Start {
			continue
		}
		life, err := trace.ReadLife(e.Life)
		if err != nil {
			return nil, err
		}
		if child, err := trace.ReadLife(e.Life + ".child"); err == nil { // else it has not begun
			life.Last = max(life.Last, child.Last)
		}
		all = append(all, stay{e, life})
	}
	slices.SortFunc(all, func(a, b stay) int { return cmp.Compare(a.First, b.First) })
	return all, nil
}

// alone finds those that were there at one time, and the least time that was
// between two that followed each other under different tokens.
func alone(all []stay) (wrong []string, least time.Duration) {
	least = math.MaxInt64
	var last stay
	for i, s := range all {
		if i > 0 && s.First <= last.Last {
			wrong = append(wrong, fmt.Sprintf("%s of token %d (pid %d) was there %v before the end of %s of token %d (pid %d)",
				s.What, s.Token, s.PID, last.Last.Sub(s.First), last.What, last.Token, last.PID))
		}
		if i > 0 && s.Token != last.Token {
			least = min(least, s.First.Sub(last.Last))
		}
		if s.Last > last.Last {
			last = s
		}
	}
	return wrong, least
}

// rising finds tokens that are lower than, in time, an earlier one. Terms that are
// to run one command each must not have equal ones either.
func rising(all []stay, strictly bool) (wrong []string) {
	for i := 1; i < len(all); i++ {
		if a, b := all[i-1].Token, all[i].Token; b < a || strictly && b == a {
			wrong = append(wrong, fmt.Sprintf("token %d was followed by %d", a, b))
		}
	}
	return wrong
}
