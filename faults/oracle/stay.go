package oracle

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// A Stay is a process, or several that belong together, that must be alone while
// it lives.
type Stay struct {
	trace.Entry
	trace.Span
}

// Stays returns the entries of beginnings, with their lives, ordered by beginning.
func Stays(entries []trace.Entry) ([]Stay, error) {
	var all []Stay
	for _, e := range entries {
		if e.Kind != trace.Start {
			continue
		}
		life, err := trace.ReadLife(e.Life)
		if err != nil {
			return nil, err
		}
		all = append(all, Stay{e, life})
	}
	slices.SortFunc(all, func(a, b Stay) int { return cmp.Compare(a.First, b.First) })
	return all, nil
}

// An Overlap is two stays at the same time.
type Overlap struct{ Before, After Stay }

// Long returns the time from the beginning of the second to the end of the first.
func (o Overlap) Long() time.Duration { return o.Before.Last.Sub(o.After.First) }

func (o Overlap) String() string {
	return fmt.Sprintf("%s of token %d (pid %d) was there %v before the end of %s of token %d (pid %d)",
		o.After.What, o.After.Token, o.After.PID, o.Long(), o.Before.What, o.Before.Token, o.Before.PID)
}

// Alone finds overlapping stays, and the least time between two that followed each other
// under different tokens or leaderruns; math.MaxInt64 if there were none. The stays must
// be ordered by beginning.
func Alone(all []Stay) (found []Overlap, least time.Duration) {
	least = math.MaxInt64
	var last Stay
	for i, s := range all {
		if i > 0 && s.First <= last.Last {
			found = append(found, Overlap{last, s})
		}
		if i > 0 && (s.Token != last.Token || s.Leaderrun != last.Leaderrun) {
			least = min(least, s.First.Sub(last.Last))
		}
		if s.Last > last.Last {
			last = s
		}
	}
	return found, least
}

// Rising finds tokens that do not rise, among terms that run one command each.
func Rising(all []Stay) (wrong []string) {
	for i := 1; i < len(all); i++ {
		if a, b := all[i-1].Token, all[i].Token; b <= a {
			wrong = append(wrong, fmt.Sprintf("token %d was followed by %d", a, b))
		}
	}
	return wrong
}
