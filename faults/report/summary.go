package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// writeSummary writes the section that README.md repeats.
func (h Header) writeSummary(w io.Writer, rows []Row) {
	fmt.Fprintf(w, "\n## Summary\n\nResults of at least %.0f minutes each on %s, of commit %s, with leases of %v:\n\n", h.Took.Minutes(), h.Run.Date, h.Run.Commit, h.TTL)
	row(w, "", "acquisitions", "faults", "two at a time", "orphans", "all violations")
	row(w, append([]string{"---"}, slices.Repeat([]string{"--:"}, 5)...)...)
	all := Row{Subject: Subject}
	var others []Row
	n := 0
	for _, r := range rows {
		if r.Subject == Subject {
			all.Figures.Add(r.Figures)
			all.Wrong += r.Wrong
			n++
		} else {
			others = append(others, r)
		}
	}
	all.summarize(w, fmt.Sprintf("%s, on %d backends and modes", Subject, n))
	for _, r := range others {
		r.summarize(w, r.label())
	}
	if left := h.left(rows); len(left) > 0 {
		fmt.Fprintf(w, "\n%s was not run on %s.\n", Subject, strings.Join(left, ", "))
	}
}

func (r Row) summarize(w io.Writer, label string) {
	f := r.Figures
	row(w, label, fmt.Sprint(f.Terms), fmt.Sprint(total(f.Faults)), fmt.Sprint(f.Overlaps), fmt.Sprint(f.Orphans), fmt.Sprint(r.Wrong))
}

// label returns the name of a row that is not part of leaderrun's sum.
func (r Row) label() string {
	if r.Mode == "" {
		return r.Subject
	}
	return fmt.Sprintf("%s (%s, %s)", r.Subject, r.Backend, r.Mode)
}

// left returns the backends on which leaderrun was not run. One that excludes nobody has a row of
// its own.
func (h Header) left(rows []Row) (schemes []string) {
	for _, b := range h.Backends {
		if !slices.ContainsFunc(rows, func(r Row) bool { return (r.Subject == Subject || b.ExcludesNobody) && r.Backend == b.Folder }) {
			schemes = append(schemes, "`"+b.Scheme+"`")
		}
	}
	return schemes
}
