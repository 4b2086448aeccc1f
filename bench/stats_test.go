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
type contest struct{ ours, peer struct{ wall, cpu sample } }

// alternate runs A B A B …, after one round that does not count.
func alternate(rounds int, ours, peer func() use) (c contest) {
	ours()
	peer()
	for range rounds {
		a, b := ours(), peer()
		c.ours.wall, c.ours.cpu = append(c.ours.wall, ms(a.wall)), append(c.ours.cpu, ms(a.cpu))
		c.peer.wall, c.peer.cpu = append(c.peer.wall, ms(b.wall)), append(c.peer.cpu, ms(b.cpu))
	}
	return c
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
