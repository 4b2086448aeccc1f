package oracle

import (
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// changes measures how long it took from each term to the next.
func (f *Figures) changes(terms []*term, faults []trace.Entry, network []string) {
	for i := 1; i < len(terms); i++ {
		c := change{before: terms[i-1], after: terms[i], network: network}
		if c.after.First <= c.before.Last {
			continue // an overlap, and no change
		}
		for _, e := range faults {
			if e.Call < c.after.First && e.At > c.before.Last {
				c.faults = append(c.faults, e)
			}
		}
		switch {
		case !c.clean():
			f.Takeovers = append(f.Takeovers, c.long())
		case len(c.faults) == 0:
			f.HandOvers = append(f.HandOvers, c.long())
		default:
			f.Mixed = append(f.Mixed, c.long())
		}
	}
}

// A change is the passage from one term to the next, with the faults in between.
type change struct {
	before, after *term
	faults        []trace.Entry
	network       []string // kinds of faults
}

// clean reports whether the first term ended only because its job ended.
func (c change) clean() bool {
	return c.before.byItself && !c.before.killed && !slices.ContainsFunc(c.faults, func(e trace.Entry) bool {
		return e.Host == "" || e.Host == c.before.host
	})
}

func (c change) long() time.Duration {
	from := c.before.Last
	for _, e := range c.faults {
		if (e.Host == "" || slices.Contains(c.network, e.What)) && e.At < c.after.First {
			from = max(from, e.At)
		}
	}
	return c.after.First.Sub(from)
}
