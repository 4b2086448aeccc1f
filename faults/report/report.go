// Package report writes the results of the fault suite, as a page in Markdown. The
// same results are the same page.
package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/bench/conditions"
	"github.com/leaderrun/leaderrun/faults/oracle"
	"github.com/leaderrun/leaderrun/locks/backend"
)

// Subject is the program that the suite is about. Others are peers.
const Subject = "leaderrun"

// A Header says how the results were obtained.
type Header struct {
	Run      conditions.Run
	Took     time.Duration // each history; printed in minutes
	TTL      time.Duration
	Others   map[string]bool  // commit, date and machine of other runs of the same programs, of which some rows are
	Backends []*backend.Info  // those that leaderrun knows
	Lacks    map[string]error // faults for which the machine lacks something, and what that is
	Excluded string           // what is excluded and why, in Markdown; may be empty
}

// A Row is the result of one history, or of several that were under the same
// conditions.
type Row struct {
	Backend string
	Mode    string // of the backend; may be empty
	Subject string // who contended: leaderrun, or a peer such as "etcdctl lock"
	Figures oracle.Figures
	Wrong   int // violations
	// Took is for how long there were faults, and Seed that of their schedule. Pressure is the part
	// of that time in which a process waited for a processor, while no fault held any back.
	Took     time.Duration
	Seed     uint64
	Pressure float64
}

// Write writes the page. Rows of the same backend, mode and subject become one.
func Write(w io.Writer, h Header, rows []Row) error {
	rows = merge(rows)
	var s strings.Builder
	h.write(&s)
	h.writeSummary(&s, rows)
	writeResults(&s, rows)
	writeFaults(&s, rows)
	if h.Excluded != "" {
		fmt.Fprintf(&s, "\n## What is excluded, and why\n\n%s\n", strings.TrimSpace(h.Excluded))
	}
	_, err := io.WriteString(w, s.String())
	return err
}

func (h Header) write(w io.Writer) {
	fmt.Fprintf(w, `# Results of the fault suite

Written by %s; what is counted, and how, is in the documentation of package faults/oracle.

%v- Run: at least %.0f minutes each, leases of %v
`, "`make faults`", h.Run, h.Took.Minutes(), h.TTL)
	for _, run := range slices.Sorted(maps.Keys(h.Others)) {
		fmt.Fprintf(w, "- Rows of the same programs at commit %s\n", run)
	}
	for _, what := range slices.Sorted(maps.Keys(h.Lacks)) {
		fmt.Fprintf(w, "- Not tested here: %s: %s\n", what, strings.Join(strings.Fields(h.Lacks[what].Error()), " "))
	}
}

// merge makes one row of those that belong together, by backends and modes, with
// peers after leaderrun.
func merge(rows []Row) (all []Row) {
	for _, r := range rows {
		same := func(a Row) bool { return order(a, r) == 0 }
		i := slices.IndexFunc(all, same)
		if i < 0 {
			i = len(all)
			all = append(all, Row{Backend: r.Backend, Mode: r.Mode, Subject: r.Subject, Seed: r.Seed, Pressure: r.Pressure})
		}
		all[i].Figures.Add(r.Figures)
		all[i].Wrong += r.Wrong
		all[i].Took += r.Took
	}
	slices.SortFunc(all, order)
	return all
}

func order(a, b Row) int {
	peer := func(r Row) int {
		if r.Subject == Subject {
			return 0
		}
		return 1
	}
	return cmp.Or(strings.Compare(a.Backend, b.Backend), strings.Compare(a.Mode, b.Mode),
		cmp.Compare(peer(a), peer(b)), strings.Compare(a.Subject, b.Subject))
}

func total(faults map[string]int) (n int) {
	for count := range maps.Values(faults) {
		n += count
	}
	return n
}
