package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

const prefix = "priority "

// Rank is what a leaderrun with --priority begins as.
func Rank(priority string) string { return prefix + priority }

// rank returns the priority of a leaderrun that began so, if it has one.
func rank(what string) (priority int, ok bool) {
	text, ok := strings.CutPrefix(what, prefix)
	if !ok {
		return 0, false
	}
	priority, err := strconv.Atoi(text)
	return priority, err == nil
}

// queueing is how long it may take a leaderrun that nothing disturbs to be in the queue, or a
// holder to read that.
const queueing = 3 * time.Second

// When so many terms begin, somebody must have waited at one of them.
const often = 50

// outranked reports terms of leaderruns that must let others go first, and began while one of
// greater priority waited. Only those waiters count that nothing has disturbed since they were
// started: others may have lost their place.
func (v *Verdict) outranked(x *index, stops []trace.Entry) {
	ranked := 0
	for _, t := range x.terms {
		stopped := slices.ContainsFunc(stops, func(e trace.Entry) bool { return e.At <= t.First })
		if !t.ranked || stopped || v.harmed(t.host, t.First.Add(-queueing), t.First) {
			continue
		}
		ranked++
		var waiting []*run
		for _, all := range x.runs {
			for _, r := range all {
				if r.ranked && r.priority != t.priority && v.waits(x, r, t.First) {
					waiting = append(waiting, r)
				}
			}
		}
		if len(waiting) == 0 {
			continue
		}
		v.Figures.Choices++
		if w := slices.MaxFunc(waiting, func(a, b *run) int { return cmp.Compare(a.priority, b.priority) }); w.priority > t.priority {
			v.complain(fmt.Sprintf("priority: token %d began with priority %d, and leaderrun %d of host %s had waited for %v with priority %d",
				t.token, t.priority, w.pid, w.host, t.First.Sub(w.begun), w.priority), t)
		}
	}
	if v.options.Ranked && ranked >= often && v.Figures.Choices == 0 {
		v.complain(fmt.Sprintf("priority: nobody is known to have waited when %d terms began", ranked))
	}
}

// waits reports whether a leaderrun is in the queue at a moment: it was not disturbed, had no term,
// and ends later.
func (v *Verdict) waits(x *index, r *run, at clock.Instant) bool {
	return r.begun <= at.Add(-queueing) && r.ended >= at.Add(striking) &&
		!slices.ContainsFunc(x.ofRun[r], func(t *term) bool { return t.First <= at }) &&
		!v.harmed(r.host, r.begun.Add(-v.options.TTL), at)
}
