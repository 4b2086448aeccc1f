package metrics

import (
	"maps"
	"math"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// carryOn adds what a file had before to what there is now, family by family in
// the order of their names. Of another lock all is kept as it is; of ours, counters
// and histograms grow on, and of the gauges only the last success outlives a run.
// What is none of ours is left out.
func carryOn(before map[string]*dto.MetricFamily, now []*dto.MetricFamily, lock string) []*dto.MetricFamily {
	all := map[string]*dto.MetricFamily{}
	for _, family := range now {
		all[family.GetName()] = family
	}
	for name, old := range before {
		switch family := all[name]; {
		case !strings.HasPrefix(name, "leaderrun_"):
		case family == nil:
			old.Metric = slices.DeleteFunc(old.Metric, func(m *dto.Metric) bool { return !lasts(old, m, lock) })
			if len(old.Metric) > 0 {
				all[name] = old
			}
		case family.GetType() == old.GetType():
			carryOnFamily(family, old, lock)
		}
	}
	var sorted []*dto.MetricFamily
	for _, name := range slices.Sorted(maps.Keys(all)) {
		sorted = append(sorted, all[name])
	}
	return sorted
}

func carryOnFamily(family, old *dto.MetricFamily, lock string) {
	current := map[string]*dto.Metric{}
	for _, m := range family.Metric {
		current[key(m)] = m
	}
	for _, m := range old.Metric {
		switch now := current[key(m)]; {
		case now == nil && lasts(old, m, lock):
			family.Metric = append(family.Metric, m)
		case now == nil:
		case m.Counter != nil && now.Counter != nil:
			now.Counter.Value = sum(now.Counter.Value, m.Counter.Value)
			now.Counter.CreatedTimestamp = nil
		case m.Histogram != nil && now.Histogram != nil:
			addHistogram(now.Histogram, m.Histogram)
		}
	}
}

// lasts reports whether a metric that is not there now is kept.
func lasts(family *dto.MetricFamily, m *dto.Metric, lock string) bool {
	of := label(m, "lock")
	return of != "" && (of != lock || family.GetType() != dto.MetricType_GAUGE || family.GetName() == lastSuccess)
}

// addHistogram adds one of the same buckets. One of others, from another version,
// is forgotten.
func addHistogram(to, h *dto.Histogram) {
	if !slices.EqualFunc(to.Bucket, finite(h.Bucket), func(a, b *dto.Bucket) bool { return a.GetUpperBound() == b.GetUpperBound() }) {
		return
	}
	for i, b := range to.Bucket {
		b.CumulativeCount = sum(b.CumulativeCount, h.Bucket[i].CumulativeCount)
	}
	to.SampleCount = sum(to.SampleCount, h.SampleCount)
	to.SampleSum = sum(to.SampleSum, h.SampleSum)
}

// finite are the buckets without the last one, +Inf, which a file has and what is
// gathered has not.
func finite(buckets []*dto.Bucket) []*dto.Bucket {
	if n := len(buckets); n > 0 && math.IsInf(buckets[n-1].GetUpperBound(), 1) {
		return buckets[:n-1]
	}
	return buckets
}

func sum[T uint64 | float64](a, b *T) *T {
	var total T
	for _, p := range []*T{a, b} {
		if p != nil {
			total += *p
		}
	}
	return &total
}

// key tells the metrics of a family apart.
func key(m *dto.Metric) string {
	var pairs []string
	for _, l := range m.Label {
		pairs = append(pairs, l.GetName()+"\x00"+l.GetValue())
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "\x01")
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.Label {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
