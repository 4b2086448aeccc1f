package metrics

import (
	"maps"
	"math"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// Families of metrics by name.
type families map[string]*dto.MetricFamily

// A carryOn adds what a file has to what there is now. Of another lock all is kept
// as it is. Of ours, counters and histograms grow on: another run on this host, which
// waits while we lead or leads while we wait, may have added to them since we
// last did. Of the gauges, those are ours if we have ever led, but for the last
// success, which may be that of another run. What is none of ours is left out.
type carryOn struct {
	before families // what is in the file
	told   families // what of it is from us
	lock   string
	led    bool // we have led, if we do not now
}

// merge returns all families in the order of their names, with those that there
// are now changed.
func (c carryOn) merge(now []*dto.MetricFamily) []*dto.MetricFamily {
	all := byName(now)
	for name, old := range c.before {
		switch family := all[name]; {
		case !strings.HasPrefix(name, "leaderrun_"):
		case family == nil:
			old.Metric = slices.DeleteFunc(old.Metric, func(m *dto.Metric) bool { return !c.lasts(old, m) })
			if len(old.Metric) > 0 {
				all[name] = old
			}
		case family.GetType() == old.GetType():
			c.family(family, old)
		}
	}
	var sorted []*dto.MetricFamily
	for _, name := range slices.Sorted(maps.Keys(all)) {
		sorted = append(sorted, all[name])
	}
	return sorted
}

func byName(all []*dto.MetricFamily) families {
	names := families{}
	for _, family := range all {
		names[family.GetName()] = family
	}
	return names
}

func (c carryOn) family(family, old *dto.MetricFamily) {
	current, told := byKey(family), byKey(c.told[family.GetName()])
	for _, m := range old.Metric {
		switch now, told := current[key(m)], told[key(m)]; {
		case now == nil && c.lasts(old, m):
			family.Metric = append(family.Metric, m)
		case now == nil:
		case m.Counter != nil && now.Counter != nil:
			now.Counter.Value = grown(now.Counter.Value, m.Counter.Value, told.GetCounter().GetValue())
			now.Counter.CreatedTimestamp = nil
		case m.Histogram != nil && now.Histogram != nil:
			growHistogram(now.Histogram, m.Histogram, told.GetHistogram())
		case m.Gauge != nil && now.Gauge != nil && c.newer(old, m, now):
			now.Gauge = m.Gauge
		}
	}
}

// newer reports whether a gauge in the file says more than ours.
func (c carryOn) newer(family *dto.MetricFamily, m, now *dto.Metric) bool {
	if family.GetName() == lastSuccess {
		return m.Gauge.GetValue() > now.Gauge.GetValue()
	}
	return !c.led
}

// lasts reports whether a metric that is not there now is kept.
func (c carryOn) lasts(family *dto.MetricFamily, m *dto.Metric) bool {
	of := label(m, "lock")
	ended := c.led && family.GetType() == dto.MetricType_GAUGE && family.GetName() != lastSuccess
	return of != "" && (of != c.lock || !ended)
}

// growHistogram adds one of the same buckets. One of others, from another version,
// is forgotten.
func growHistogram(to, h, told *dto.Histogram) {
	if !slices.EqualFunc(to.Bucket, finite(h.Bucket), func(a, b *dto.Bucket) bool { return a.GetUpperBound() == b.GetUpperBound() }) {
		return
	}
	for i, b := range to.Bucket {
		ours := uint64(0)
		if i < len(told.GetBucket()) {
			ours = told.Bucket[i].GetCumulativeCount()
		}
		b.CumulativeCount = grown(b.CumulativeCount, h.Bucket[i].CumulativeCount, ours)
	}
	to.SampleCount = grown(to.SampleCount, h.SampleCount, told.GetSampleCount())
	to.SampleSum = grown(to.SampleSum, h.SampleSum, told.GetSampleSum())
}

// finite are the buckets without the last one, +Inf, which a file has and what is
// gathered has not.
func finite(buckets []*dto.Bucket) []*dto.Bucket {
	if n := len(buckets); n > 0 && math.IsInf(buckets[n-1].GetUpperBound(), 1) {
		return buckets[:n-1]
	}
	return buckets
}

// grown is what we have counted and what others have: what is in the file without
// what we told.
func grown[T uint64 | float64](now, before *T, told T) *T {
	var total T
	if before != nil && *before > told {
		total = *before - told
	}
	if now != nil {
		total += *now
	}
	return &total
}

// copied returns what only grows of some families.
func copied(all []*dto.MetricFamily) []*dto.MetricFamily {
	var copies []*dto.MetricFamily
	for _, family := range all {
		c := &dto.MetricFamily{Name: family.Name}
		for _, m := range family.Metric {
			c.Metric = append(c.Metric, copiedMetric(m))
		}
		copies = append(copies, c)
	}
	return copies
}

func copiedMetric(m *dto.Metric) *dto.Metric {
	c := &dto.Metric{Label: m.Label}
	if m.Counter != nil {
		c.Counter = &dto.Counter{Value: m.Counter.Value}
	}
	if h := m.Histogram; h != nil {
		c.Histogram = &dto.Histogram{SampleCount: h.SampleCount, SampleSum: h.SampleSum}
		for _, b := range h.Bucket {
			c.Histogram.Bucket = append(c.Histogram.Bucket, &dto.Bucket{CumulativeCount: b.CumulativeCount})
		}
	}
	return c
}

// byKey are the metrics of a family, which may be nil.
func byKey(family *dto.MetricFamily) map[string]*dto.Metric {
	keys := map[string]*dto.Metric{}
	for _, m := range family.GetMetric() {
		keys[key(m)] = m
	}
	return keys
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
