package oracle

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// writeSchedule writes the faults that were under way around the violation, the last one
// before and the first one after. If the violation is about no term, it writes them all.
func (v *Verdict) writeSchedule(w io.Writer) {
	fmt.Fprintf(w, "schedule, ms after the start:\n")
	from, to := 0, len(v.faults)
	if len(v.shown) > 0 {
		begin, end := v.span()
		if i := slices.IndexFunc(v.faults, func(e trace.Entry) bool { return e.At >= begin }); i >= 0 {
			from = max(i-1, 0)
		} else {
			from = max(len(v.faults)-1, 0)
		}
		if i := slices.IndexFunc(v.faults, func(e trace.Entry) bool { return e.Call > end }); i >= 0 {
			to = i + 1
		}
	}
	if from > 0 {
		fmt.Fprintf(w, "  (%d before)\n", from)
	}
	for _, e := range v.faults[from:to] {
		fmt.Fprintf(w, "  %s to %s: %s\n", since(v.began, e.Call), since(v.began, e.At), fault(e))
	}
	if n := len(v.faults) - to; n > 0 {
		fmt.Fprintf(w, "  (%d after)\n", n)
	}
}

// span is the time in which a cause of the violation may lie: from two leases before
// the two terms met to the end of both.
func (v *Verdict) span() (from, to clock.Instant) {
	met := clock.Never
	for _, t := range v.shown {
		met, to = min(met, t.Last), max(to, t.Last)
	}
	for _, t := range v.shown[1:] {
		met = min(met, t.First)
	}
	return met.Add(-2 * v.options.TTL), to
}

// A line is a row of the excerpt.
type line struct {
	at                clock.Instant
	host, token, what string
}

// writeExcerpt writes the evidence of the violation, by time: when its terms began and
// ended, what they wrote while both existed or what was refused, and the faults.
func (v *Verdict) writeExcerpt(w io.Writer) {
	if len(v.shown) == 0 {
		return
	}
	from, to := v.span()
	var lines []line
	for _, t := range v.shown {
		lines = append(lines, t.lines()...)
	}
	lines = append(lines, v.writes()...)
	for _, e := range v.faults {
		if e.At >= from && e.Call <= to {
			lines = append(lines, line{e.Call, e.Host, "", e.What + " begins"}, line{e.At, e.Host, "", e.What + " is over"})
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "ms\thost\ttoken\twhat\n")
	for _, l := range lines {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", since(v.began, l.at), l.host, l.token, l.what)
	}
	_ = table.Flush() // an error here is ignored, as above
}

// lines describes a term, with only the first and the last of its processes.
func (t *term) lines() []line {
	token := fmt.Sprint(t.token)
	all := []line{{t.begun, t.host, token, fmt.Sprintf("leaderrun %d was started", t.pid)}}
	first, last := t.first(), t.last()
	all = append(all,
		line{first.First, t.host, token, fmt.Sprintf("%s %d: first moment", first.What, first.PID)},
		line{last.Last, t.host, token, fmt.Sprintf("%s %d: last moment", last.What, last.PID)})
	if t.Last > last.Last {
		all = append(all, line{t.Last, t.host, token, "last entry"})
	}
	if until, ok := t.until(); ok {
		all = append(all, line{until, t.host, token, "end of the lease, as the job knew it"})
	}
	if t.ended != clock.Never {
		all = append(all, line{t.ended, t.host, token, fmt.Sprintf("leaderrun %d had ended, with %d", t.pid, t.status)})
	}
	return all
}

// writes returns, for each shown term, the first two writes that the register refused and
// the first two that it accepted while both terms existed.
func (v *Verdict) writes() (lines []line) {
	from, to := v.shown[0].First, v.shown[0].Last
	for _, t := range v.shown[1:] {
		from, to = max(from, t.First), min(to, t.Last)
	}
	const few = 2
	type kind struct {
		token   uint64
		refused bool
	}
	shown := map[kind]int{}
	for _, e := range v.history.of(trace.Write) {
		of := func(t *term) bool { return t.token == e.Token && t.host == e.Host }
		if !slices.ContainsFunc(v.shown, of) {
			continue
		}
		both := len(v.shown) > 1 && e.At >= from && e.Call <= to
		k := kind{e.Token, e.Refused}
		if !e.Refused && !both || shown[k] == few {
			continue
		}
		shown[k]++
		what := "write accepted"
		if e.Refused {
			what = fmt.Sprintf("write refused, the register knew %d", e.Highest)
		}
		lines = append(lines, line{e.At, e.Host, fmt.Sprint(e.Token), what})
	}
	return lines
}
