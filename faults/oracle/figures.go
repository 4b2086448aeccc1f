package oracle

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/runner/timing"
)

// Figures are what was counted and measured.
type Figures struct {
	Terms    int            // acquisitions
	Faults   map[string]int // by their kinds
	Overlaps int
	Exceeded int // overlaps because both killers got no processor: see late.go
	Orphans  int // processes
	Foreign  int // jobs of a peer that contends for the same lock
	Refused  int // writes to the register
	Drains   int // jobs that were asked to end, and were not disturbed
	Windows  int // of --once-per in which a job succeeded
	Choices  int // terms that began while others of another priority waited

	Gap Least // from the last moment of a term to the first of the next

	// Slack is the time from the last moment of a term to the end of its lease, if its
	// jobs knew that. Late is how much later than D_kill that last moment was, if it was.
	Slack Least
	Late  Most
	// Thawed is the time from the end of a machine's freeze to the last moment of a term whose
	// lease had ended in it.
	Thawed Most

	// HandOvers are the gaps after terms that ended by themselves, without any fault
	// until the next had begun. Takeovers are the gaps after a term that ended
	// otherwise, or whose host or server was at fault. Both count from the end of the
	// server's and the network's faults, if these had ended by then. Mixed has the
	// others, with a fault somewhere else.
	HandOvers, Takeovers, Mixed []time.Duration
}

// A Least is the least of some durations, or empty.
type Least struct {
	Of    int
	Value time.Duration
}

func (l *Least) add(d time.Duration) { l.join(Least{1, d}) }

func (l *Least) join(m Least) {
	if l.Of == 0 || m.Of > 0 && m.Value < l.Value {
		l.Value = m.Value
	}
	l.Of += m.Of
}

// A Most is the greatest of some durations, or empty.
type Most struct {
	Of    int
	Value time.Duration
}

func (m *Most) add(d time.Duration) { m.join(Most{1, d}) }

func (m *Most) join(n Most) {
	if m.Of == 0 || n.Of > 0 && n.Value > m.Value {
		m.Value = n.Value
	}
	m.Of += n.Of
}

// Add adds the figures of another history.
func (f *Figures) Add(g Figures) {
	f.Terms += g.Terms
	f.Overlaps += g.Overlaps
	f.Exceeded += g.Exceeded
	f.Orphans += g.Orphans
	f.Foreign += g.Foreign
	f.Refused += g.Refused
	f.Drains += g.Drains
	f.Choices += g.Choices
	f.Windows += g.Windows
	f.Gap.join(g.Gap)
	f.Slack.join(g.Slack)
	f.Late.join(g.Late)
	f.Thawed.join(g.Thawed)
	f.HandOvers = slices.Concat(f.HandOvers, g.HandOvers)
	f.Takeovers = slices.Concat(f.Takeovers, g.Takeovers)
	f.Mixed = slices.Concat(f.Mixed, g.Mixed)
	f.Faults = maps.Clone(f.Faults)
	if f.Faults == nil {
		f.Faults = map[string]int{}
	}
	for kind, n := range g.Faults {
		f.Faults[kind] += n
	}
}

// Quantile is the smallest duration that at least a fraction q of them, from 0 to 1, do
// not exceed; 0 if there are none.
func Quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	i := int(math.Ceil(q*float64(len(all)))) - 1
	return sorted[min(max(i, 0), len(all)-1)]
}

// measure takes the figures of leases.
func (f *Figures) measure(terms []*term, ttl time.Duration) {
	timing := timing.New(ttl, timing.KillAfter)
	for _, t := range terms {
		until, ok := t.until()
		if !ok {
			continue
		}
		f.Slack.add(until.Sub(t.Last))
		if late := t.Last.Sub(timing.KillAt(until)); late > 0 {
			f.Late.add(late)
		}
	}
}
