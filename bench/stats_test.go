//go:build bench && linux

package bench

import (
	"math"
	"slices"
	"time"
)

// A sample is a series of measurements, in order.
type sample []float64

func (s sample) median() float64 { return s.quantile(0.5) }

// quantile returns the smallest value that at least a fraction q of the sample does not
// exceed, or 0 for an empty sample.
func (s sample) quantile(q float64) float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	i := int(math.Ceil(q*float64(len(s)))) - 1
	return sorted[min(max(i, 0), len(s)-1)]
}

// ratios divides values that were measured together.
func ratios(ours, peer sample) sample {
	r := make(sample, len(ours))
	for i := range ours {
		r[i] = ours[i] / peer[i]
	}
	return r
}

// A contest has the results of alternating runs.
type contest struct{ ours, peer uses }

// uses are those of one side, in ms and counts.
type uses struct{ wall, cpu, faults, switches sample }

func (u *uses) add(one use) {
	u.wall, u.cpu = append(u.wall, ms(one.wall)), append(u.cpu, ms(one.cpu))
	u.faults, u.switches = append(u.faults, float64(one.faults)), append(u.switches, float64(one.switches))
}

// alternate runs A B A B …, after one round that does not count.
func alternate(rounds int, ours, peer func() use) (c contest) {
	ours()
	peer()
	for range rounds {
		a, b := ours(), peer()
		c.ours.add(a)
		c.peer.add(b)
	}
	return c
}

// A budget limits the ratio of two sides, and counts of ours; 0 means no limit.
type budget struct{ wall, cpu, faults, switches float64 }

// figures returns those of a contest. Counts come first: they hold on a busy machine as well.
func (c contest) figures(what string, most budget) []figure {
	return []figure{
		besides(atMost(what+"page faults", "faults", c.ours.faults, most.faults), c.peer.faults),
		besides(atMost(what+"context switches", "switches", c.ours.switches, most.switches), c.peer.switches),
		versus(what+"CPU of all processes", "ms", c.ours.cpu, c.peer.cpu, most.cpu),
		versus(what+"wall", "ms", c.ours.wall, c.peer.wall, most.wall),
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
