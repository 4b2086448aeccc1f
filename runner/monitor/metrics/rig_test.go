package metrics

import (
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/monitor/metrics/feed"
)

// A fakeClock shows the time that the test sets.
type fakeClock struct {
	mu  sync.Mutex
	now clock.Instant
}

func (c *fakeClock) Now() clock.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// A rig is a state with its own clock, which begins at 1000 s.
type rig struct {
	*state
	registry *prometheus.Registry
	t        *testing.T
	time     *fakeClock
}

func newRig(t *testing.T, open feed.Open) *rig {
	t.Helper()
	c := &fakeClock{now: seconds(1000)}
	open.Lock, open.ID, open.Version = "nightly", "host/1/a", "v1"
	s := newState(c, feed.Line{At: c.now, Open: &open})
	return &rig{s, newRegistry(s), t, c}
}

func seconds(s float64) clock.Instant { return clock.Instant(s * 1e9) }

// pass lets time pass.
func (r *rig) pass(d time.Duration) {
	r.time.mu.Lock()
	defer r.time.mu.Unlock()
	r.time.now = r.time.now.Add(d)
}

// tell sends an event.
func (r *rig) tell(e event.Event) {
	r.t.Helper()
	l := feed.Line{At: r.time.Now(), Event: &e}
	if e.Kind == event.Acquired && e.TTLMS > 0 {
		l.Deadline = l.At.Add(time.Duration(e.TTLMS) * time.Millisecond)
	}
	r.learn(l)
}

func (r *rig) kinds(kinds ...event.Kind) {
	r.t.Helper()
	for _, kind := range kinds {
		r.tell(event.Event{Kind: kind})
	}
}

// acquired begins a term of 15 s.
func (r *rig) acquired() {
	r.t.Helper()
	r.tell(event.Event{Kind: event.Acquired, Token: 7, TTLMS: 15000})
}

// renewed sends a renewal that was acknowledged at once.
func (r *rig) renewed(left time.Duration) {
	now := r.time.Now()
	r.learn(feed.Line{At: now, Renewal: &feed.Renewal{Took: time.Millisecond, Left: left}, Deadline: now.Add(15 * time.Second)})
}

func (r *rig) exited(code int) {
	r.t.Helper()
	r.tell(event.Event{Kind: event.Exited, Code: &code, Time: time.Unix(1_700_000_000, 0)})
}

// absent is the value of a missing metric.
const absent = -1

// value returns the value of a metric of our lock, which for a histogram is the sum.
func (r *rig) value(name string, labels ...string) float64 {
	r.t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	return valueIn(families, name, append(labels, "lock", "nightly")...)
}

func valueIn(families []*dto.MetricFamily, name string, labels ...string) float64 {
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() != name || !has(m, labels) {
				continue
			}
			switch {
			case m.Counter != nil:
				return m.Counter.GetValue()
			case m.Histogram != nil:
				return m.Histogram.GetSampleSum()
			}
			return m.Gauge.GetValue()
		}
	}
	return absent
}

func has(m *dto.Metric, labels []string) bool {
	for i := 0; i < len(labels); i += 2 {
		if label(m, labels[i]) != labels[i+1] {
			return false
		}
	}
	return true
}

// is checks the value of a metric.
func (r *rig) is(want float64, name string, labels ...string) {
	r.t.Helper()
	if got := r.value("leaderrun_"+name, labels...); got != want {
		r.t.Errorf("%s%v is %v, want %v", name, labels, got, want)
	}
}
