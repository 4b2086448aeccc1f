package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/faults/oracle"
)

// none stands for a missing measurement.
const none = "–"

// writeResults writes the table with a row for each backend, mode and subject.
func writeResults(w io.Writer, rows []Row) {
	fmt.Fprintf(w, `
## Results

`)
	row(w, "backend", "mode", "subject", "acquisitions", "faults", "overlaps", "margins exceeded", "orphans", "refused writes", "violations",
		"least gap, ms", "least slack, s", "killed late: n, worst, ms", "after a thaw: n, longest, ms", "hand-over: n, p50 / p99 / max, ms", "takeover: n, p50 / p99 / max, s", "minutes", "seed", "waited for a processor")
	row(w, slices.Concat(slices.Repeat([]string{"---"}, 3), slices.Repeat([]string{"--:"}, 16))...)
	for _, r := range rows {
		f := r.Figures
		row(w, r.Backend, r.Mode, r.Subject, fmt.Sprint(f.Terms), fmt.Sprint(total(f.Faults)),
			fmt.Sprint(f.Overlaps), fmt.Sprint(f.Exceeded), fmt.Sprint(f.Orphans), fmt.Sprint(f.Refused), fmt.Sprint(r.Wrong),
			known(f.Gap.Of, ms(f.Gap.Value)), known(f.Slack.Of, seconds(f.Slack.Value)),
			most(f.Late), most(f.Thawed), spread(f.HandOvers, ms), spread(f.Takeovers, seconds), fmt.Sprintf("%.0f", r.Took.Minutes()), fmt.Sprint(r.Seed), fmt.Sprintf("%.0f %%", 100*r.Pressure))
	}
	fmt.Fprintf(w, `
A margin is exceeded if two terms overlap although both killers of the first did all they could:
each was later than both margins, because the machine ran nothing in time, or was at fault. A
gap is the time from the last sign of life of a term to the first of the next; slack
is the time from the last sign of life to the end of the lease, as far as the job knew
it. A term was killed late if it showed a sign of life after the moment at which it had
to be killed, which is before the end of the lease by the margins for a busy machine and
for dying. While a machine is frozen, whatever would kill the job does not run. If the lease
ends meanwhile, "after a thaw" is for how long the job was there when the machine continued,
and the register refuses what it writes after the next term's first write. A hand-over follows
a job that ended by itself, without any fault meanwhile; a takeover follows a term that ended
otherwise, or whose host or server was at fault. Both count from the end of the server's and the
network's faults, if these had ended by then. The last column is the part of the time in which
any process of the machine waited for a processor while no fault held one back.
`)
}

func most(m oracle.Most) string { return known(m.Of, fmt.Sprintf("%d, %s", m.Of, ms(m.Value))) }

// writeFaults writes the table of faults, by their kinds.
func writeFaults(w io.Writer, rows []Row) {
	kinds := map[string]bool{}
	head, line, sum := []string{"fault"}, []string{"---"}, []string{"all"}
	for _, r := range rows {
		head, line, sum = append(head, r.name()), append(line, "--:"), append(sum, fmt.Sprint(total(r.Figures.Faults)))
		for kind := range r.Figures.Faults {
			kinds[kind] = true
		}
	}
	fmt.Fprintf(w, "\n## Faults, by kind\n\n")
	row(w, head...)
	row(w, line...)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		cells := []string{kind}
		for _, r := range rows {
			cells = append(cells, known(r.Figures.Faults[kind], fmt.Sprint(r.Figures.Faults[kind])))
		}
		row(w, cells...)
	}
	row(w, sum...)
}

// name returns a row's name for the head of a column.
func (r Row) name() string {
	name := r.Backend
	if r.Mode != "" {
		name += " " + r.Mode
	}
	if r.Subject != Subject {
		name += ", " + r.Subject
	}
	return name
}

func row(w io.Writer, cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(c, "|", `\|`)
	}
	fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
}

// known returns a text about n things, or none if n is 0.
func known(n int, text string) string {
	if n == 0 {
		return none
	}
	return text
}

// spread formats the number of some durations, and how long they are.
func spread(all []time.Duration, unit func(time.Duration) string) string {
	at := func(q float64) string { return unit(oracle.Quantile(all, q)) }
	return known(len(all), fmt.Sprintf("%d, %s / %s / %s", len(all), at(0.5), at(0.99), at(1)))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()) }
