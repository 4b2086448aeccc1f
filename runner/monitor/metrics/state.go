package metrics

import (
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/monitor/metrics/feed"
)

// A state is what we know of the run. Whether we lead is decided by the deadline when
// somebody asks, and not by the last line, because a frozen leaderrun sends none.
type state struct {
	clock clock.Clock
	count *counters

	mu       sync.Mutex
	at       clock.Instant // the time of the line being processed
	open     feed.Open
	waited   clock.Instant // when we began to wait for the lock
	waiting  feed.Waiting  // whom we wait for
	alive    clock.Instant // when the loop that would end the job last said that it runs
	leading  bool          // according to the last event
	led      bool          // we lead, or have led
	token    uint64
	ttl      time.Duration
	deadline clock.Instant // 0: the lease cannot end
	lowest   time.Duration // the least that was left of the lease in this term; only with a ttl
	parting  clock.Instant // when the term began to end, or 0
	started  clock.Instant // when the job was started; 0: it does not run
	stopped  bool          // the job is being ended
	success  time.Time     // when the job last succeeded, or zero
}

func newState(c clock.Clock, first feed.Line) *state {
	return &state{clock: c, count: newCounters(), open: *first.Open, at: first.At, waited: first.At, alive: first.At}
}

// learn updates the state from a line.
func (s *state) learn(l feed.Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = l.At
	switch {
	case l.Alive: // other lines may come from other goroutines, such as the one that renews
		s.alive = l.At
	case l.Event != nil:
		s.count.transitions.WithLabelValues(string(l.Event.Kind), l.Event.Class).Inc()
		s.event(l.Event, l.Deadline)
	case l.Renewal != nil:
		s.renewal(l.Renewal, l.Deadline)
	case l.Waiting != nil:
		s.waiting = *l.Waiting
	}
}

func (s *state) event(e *event.Event, deadline clock.Instant) {
	switch e.Kind {
	case event.Acquired:
		s.acquired(e, deadline)
	case event.Released:
		if s.parting != 0 {
			s.count.handover.Observe(s.since(s.parting))
		}
		s.leave()
	case event.ReleaseFailed:
		s.leave()
	case event.Rejoining:
		s.leave()
		s.waited = s.at
	case event.Lost:
		s.part()
		s.stopped = true
		if e.Class == event.ClassLost {
			s.leave()
		}
	case event.Resigned:
		s.part()
	}
	switch {
	case e.Hook == "":
		s.jobEvent(e)
	case e.Hook == "lost" && e.Kind == event.Started: // the whole job is dead then
		s.leave()
	}
}

// jobEvent updates the state from an event of the job, not of a hook.
func (s *state) jobEvent(e *event.Event) {
	switch e.Kind {
	case event.Started:
		s.count.runs.Inc()
		s.started, s.stopped, s.parting = s.at, false, 0
	case event.Signalled, event.Killed:
		s.part()
		s.stopped = true
	case event.Exited:
		s.part()
		s.exited(e)
	case event.Restarting:
		s.parting = 0
	}
}

func (s *state) acquired(e *event.Event, deadline clock.Instant) {
	s.count.terms.Inc()
	s.count.wait.Observe(s.since(s.waited))
	s.leading, s.led, s.token, s.deadline, s.parting = true, true, e.Token, deadline, 0
	s.ttl, s.lowest = time.Duration(e.TTLMS)*time.Millisecond, max(deadline.Sub(s.at), 0)
	s.waiting = feed.Waiting{}
}

func (s *state) exited(e *event.Event) {
	if s.started != 0 {
		s.count.duration.Observe(s.since(s.started))
	}
	s.started = 0
	if e.Code == nil {
		return
	}
	s.count.exited(*e.Code)
	if *e.Code == 0 && !s.stopped {
		s.success = e.Time
	}
}

func (s *state) renewal(r *feed.Renewal, deadline clock.Instant) {
	outcome := r.Class
	if outcome == "" {
		outcome = acknowledged
		s.count.renewal.Observe(r.Took.Seconds())
	}
	s.count.renewals.WithLabelValues(outcome).Inc()
	s.lowest = max(min(s.lowest, r.Left), 0)
	s.deadline = deadline
}

// part records that the term is about to end.
func (s *state) part() {
	if s.parting == 0 && s.leading {
		s.parting = s.at
	}
}

// leave records the end of a term.
func (s *state) leave() {
	if s.leading && s.deadline != 0 {
		s.lowest = min(s.lowest, max(s.deadline.Sub(s.at), 0))
	}
	s.leading, s.parting = false, 0
}

// leads reports whether the lock is certainly ours.
func (s *state) leads() bool {
	return s.leading && (s.deadline == 0 || s.clock.Now() < s.deadline)
}

// leadsUntil returns when the lease ends with which we lead, or Never if we do not lead or it
// cannot end.
func (s *state) leadsUntil() clock.Instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.leads() || s.deadline == 0 {
		return clock.Never
	}
	return s.deadline
}

// left returns how long the lease still lasts.
func (s *state) left() time.Duration {
	if !s.leading || s.deadline == 0 {
		return 0
	}
	return max(s.deadline.Sub(s.clock.Now()), 0)
}

// since returns the time from then to the line being processed.
func (s *state) since(then clock.Instant) float64 { return s.at.Sub(then).Seconds() }

// well reports whether the run is healthy: the loop that would end the job runs, and waits for the
// lock or leads with a lease that has not ended.
func (s *state) well() bool {
	return s.clock.Now().Sub(s.alive) < feed.AliveLimit && s.leading == s.leads()
}

// hasLed reports whether we lead, or have led before.
func (s *state) hasLed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.led
}

// end records the end of the run.
func (s *state) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = s.clock.Now()
	s.leave()
}
