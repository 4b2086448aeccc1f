package metrics

import (
	"maps"
	"math"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// families are families of metrics, by name.
type families map[string]*dto.MetricFamily

// A carryOn combines the metrics of the file with our current ones. Metrics of other locks
// stay as they are. Counters and histograms of our lock continue to grow: another run on
// this host, which waits while we lead or leads while we wait, may have added to them since
// we did. Gauges have our values if we have ever led, except for the last success, which
// may be another run's. Metrics that leaderrun does not export are dropped.
type carryOn struct {
	before families // those in the file
	ours   families // our own part of them
	lock   string
	led    bool // we have led before, even if we do not lead now
}

// merge returns all families in the order of their names, with the current ones updated.
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
	current, ours := byKey(family), byKey(c.ours[family.GetName()])
	for _, m := range old.Metric {
		switch now, ours := current[key(m)], ours[key(m)]; {
		case now == nil && c.lasts(old, m):
			family.Metric = append(family.Metric, m)
		case now == nil:
		case m.Counter != nil && now.Counter != nil:
			now.Counter.Value = grown(now.Counter.Value, m.Counter.Value, ours.GetCounter().GetValue())
			now.Counter.CreatedTimestamp = nil
		case m.Histogram != nil && now.Histogram != nil:
			growHistogram(now.Histogram, m.Histogram, ours.GetHistogram())
		case m.Gauge != nil && now.Gauge != nil && c.newer(old, m, now):
			now.Gauge = m.Gauge
		}
	}
}

// newer reports whether a gauge in the file is more recent than ours.
func (c carryOn) newer(family *dto.MetricFamily, m, now *dto.Metric) bool {
	if family.GetName() == lastSuccess {
		return m.Gauge.GetValue() > now.Gauge.GetValue()
	}
	return !c.led
}

// lasts reports whether a metric that we do not export now is kept.
func (c carryOn) lasts(family *dto.MetricFamily, m *dto.Metric) bool {
	of := label(m, "lock")
	ended := c.led && family.GetType() == dto.MetricType_GAUGE && family.GetName() != lastSuccess
	return of != "" && (of != c.lock || !ended)
}

// growHistogram adds a histogram that has the same buckets. One with other buckets, from
// another version, is dropped.
func growHistogram(to, h, ours *dto.Histogram) {
	if !slices.EqualFunc(to.Bucket, finite(h.Bucket), func(a, b *dto.Bucket) bool { return a.GetUpperBound() == b.GetUpperBound() }) {
		return
	}
	for i, b := range to.Bucket {
		own := uint64(0)
		if i < len(ours.GetBucket()) {
			own = ours.Bucket[i].GetCumulativeCount()
		}
		b.CumulativeCount = grown(b.CumulativeCount, h.Bucket[i].CumulativeCount, own)
	}
	to.SampleCount = grown(to.SampleCount, h.SampleCount, ours.GetSampleCount())
	to.SampleSum = grown(to.SampleSum, h.SampleSum, ours.GetSampleSum())
}

// finite returns the buckets without the last one, +Inf, which files have and gathered
// histograms do not.
func finite(buckets []*dto.Bucket) []*dto.Bucket {
	if n := len(buckets); n > 0 && math.IsInf(buckets[n-1].GetUpperBound(), 1) {
		return buckets[:n-1]
	}
	return buckets
}

// grown returns our count plus those of others, which are the count in the file less our
// part of it.
func grown[T uint64 | float64](now, before *T, ours T) *T {
	var total T
	if before != nil && *before > ours {
		total = *before - ours
	}
	if now != nil {
		total += *now
	}
	return &total
}

// copied returns a copy of those families whose metrics only grow.
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

// byKey returns the metrics of a family, which may be nil, by their keys.
func byKey(family *dto.MetricFamily) map[string]*dto.Metric {
	keys := map[string]*dto.Metric{}
	for _, m := range family.GetMetric() {
		keys[key(m)] = m
	}
	return keys
}

// key returns the labels of a metric as text, which differs from that of all others in its family.
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
