package metrics

import (
	"runtime"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// acknowledged is the outcome of a successful renewal. Other outcomes are classes of errors.
const acknowledged = "acknowledged"

// jobBuckets are for jobs, which take a second or a day, and for waits.
var jobBuckets = []float64{0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600}

// renewBuckets are for round trips to a server. With most ttls, a renewal that takes longer
// than the last bucket has failed.
var renewBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}

// handoverBuckets are for the end of a job and a release.
var handoverBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// counters are the metrics that only grow.
type counters struct {
	terms, runs           prometheus.Counter
	transitions, renewals *prometheus.CounterVec
	exits                 *prometheus.CounterVec
	renewal, wait         prometheus.Histogram
	handover, duration    prometheus.Histogram
}

func newCounters() *counters {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	}
	c := &counters{
		terms:       counter("leaderrun_terms_total", "Terms: how often the lock was acquired."),
		runs:        counter("leaderrun_job_runs_total", "How often the job was started."),
		transitions: vec("leaderrun_transitions_total", "Events by kind and class of the reason, as --events has them.", "event", "class"),
		renewals:    vec("leaderrun_renewals_total", "Attempts to renew the lease, by outcome: acknowledged, or the class of the error.", "outcome"),
		exits:       vec("leaderrun_job_exits_total", "Ends of the job by exit status, 128+N after signal N.", "code"),
		renewal:     histogram("leaderrun_renewal_duration_seconds", "Time from sending a renewal to its acknowledgement.", renewBuckets),
		wait:        histogram("leaderrun_wait_duration_seconds", "Time from the begin of a campaign until the lock was acquired.", jobBuckets),
		handover:    histogram("leaderrun_handover_duration_seconds", "Time from the begin of the end of a term until the lock was released: how long the next holder waits for us.", handoverBuckets),
		duration:    histogram("leaderrun_job_duration_seconds", "Time from the start of the job to the end of its first process.", jobBuckets),
	}
	c.renewals.WithLabelValues(acknowledged)
	return c
}

func (c *counters) exited(code int) { c.exits.WithLabelValues(strconv.Itoa(code)).Inc() }

// newRegistry returns a registry of the metrics of a state.
func newRegistry(s *state) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	c, lock := s.count, prometheus.WrapRegistererWith(prometheus.Labels{"lock": s.open.Lock}, registry)
	lock.MustRegister(c.terms, c.runs, c.transitions, c.renewals, c.exits, c.renewal, c.wait, c.handover, c.duration, gauges{s})
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "leaderrun_build_info", Help: "Always 1; which leaderrun this is.",
		ConstLabels: prometheus.Labels{"version": s.open.Version, "goversion": runtime.Version()}})
	build.Set(1)
	registry.MustRegister(build)
	return registry
}

// gauges are the metrics that are computed when somebody asks.
type gauges struct{ *state }

func desc(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }

var (
	descLeader    = desc("leaderrun_is_leader", "1 while the lock is ours, by the deadline of the lease; else 0.")
	descToken     = desc("leaderrun_fencing_token", "The token of the term that we lead; 0 if we do not.")
	descTTL       = desc("leaderrun_lease_ttl_seconds", "The lease as granted, of this term or the last one; not there if it cannot end.")
	descLeft      = desc("leaderrun_lease_remaining_seconds", "What is left of the lease; not there if it cannot end.")
	descLowest    = desc("leaderrun_lease_remaining_lowest_seconds", "The least that was left of the lease in this term, or the last one.")
	descSuccess   = desc(lastSuccess, "When the job last succeeded: by itself, under the lock.")
	allGaugeDescs = []*prometheus.Desc{descLeader, descToken, descTTL, descLeft, descLowest, descSuccess}
)

// lastSuccess is the only gauge that outlives the run.
const lastSuccess = "leaderrun_job_last_success_timestamp_seconds"

// Describe implements prometheus.Collector.
func (gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range allGaugeDescs {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (g gauges) Collect(to chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	tell := func(d *prometheus.Desc, v float64) { to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v) }
	token := uint64(0)
	if g.leads() {
		token = g.token
	}
	tell(descLeader, truth(g.leads()))
	tell(descToken, float64(token))
	if g.ttl > 0 {
		lowest := g.lowest
		if g.leading {
			lowest = min(lowest, g.left())
		}
		tell(descTTL, g.ttl.Seconds())
		tell(descLeft, g.left().Seconds())
		tell(descLowest, lowest.Seconds())
	}
	if !g.success.IsZero() {
		tell(descSuccess, float64(g.success.UnixMilli())/1000)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

var _ prometheus.Collector = gauges{}
