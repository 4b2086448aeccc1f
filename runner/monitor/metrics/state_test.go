package metrics

import (
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/monitor/metrics/feed"
)

// A frozen leaderrun sends nothing, and stops leading when its lease has ended.
func TestFrozenLeaderIsNone(t *testing.T) {
	t.Parallel()
	r := newRig(t, feed.Open{})
	r.acquired()
	r.kinds(event.Started)
	r.is(1, "is_leader")
	r.is(7, "fencing_token")
	r.pass(14 * time.Second)
	r.is(1, "is_leader")
	r.is(1, "lease_remaining_seconds")
	r.is(1, "lease_remaining_lowest_seconds")
	r.pass(time.Second)
	r.is(0, "is_leader")
	r.is(0, "fencing_token")
	r.is(0, "lease_remaining_seconds")
	if r.well() {
		t.Error("it is well")
	}
}

// The lowest value is that of the term, however much is left later.
func TestLeaseLeft(t *testing.T) {
	t.Parallel()
	r := newRig(t, feed.Open{})
	r.is(absent, "lease_remaining_seconds")
	r.acquired()
	r.is(15, "lease_ttl_seconds")
	r.pass(11 * time.Second)
	r.renewed(4 * time.Second)
	r.is(15, "lease_remaining_seconds")
	r.is(4, "lease_remaining_lowest_seconds")
	r.pass(3 * time.Second)
	r.renewed(12 * time.Second)
	r.is(4, "lease_remaining_lowest_seconds")
	r.kinds(event.Released)
	r.is(0, "lease_remaining_seconds")
	r.is(4, "lease_remaining_lowest_seconds")
	r.acquired()
	r.is(15, "lease_remaining_lowest_seconds")
}

// A lock without a lease is ours until it is released.
func TestNoLease(t *testing.T) {
	t.Parallel()
	r := newRig(t, feed.Open{})
	r.tell(event.Event{Kind: event.Acquired, Token: 7})
	r.pass(100 * time.Hour)
	r.is(1, "is_leader")
	r.is(absent, "lease_remaining_seconds")
	r.is(absent, "lease_ttl_seconds")
	r.kinds(event.Released)
	r.is(0, "is_leader")
}

// A lock that is definitely lost is not ours, whatever the deadline says. A term that is
// about to end is ours until then.
func TestLost(t *testing.T) {
	t.Parallel()
	for class, leads := range map[string]float64{event.ClassLost: 0, "expired": 1} {
		r := newRig(t, feed.Open{})
		r.acquired()
		r.tell(event.Event{Kind: event.Lost, Class: class})
		r.is(leads, "is_leader")
	}
}

// The term ends when the input does.
func TestEndOfTheRun(t *testing.T) {
	t.Parallel()
	r := newRig(t, feed.Open{})
	r.acquired()
	r.end()
	r.is(0, "is_leader")
}

func TestRenewals(t *testing.T) {
	t.Parallel()
	r := newRig(t, feed.Open{})
	r.acquired()
	r.renewed(12 * time.Second)
	r.renewed(12 * time.Second)
	r.learn(feed.Line{At: r.time.Now(), Renewal: &feed.Renewal{Took: 2 * time.Second, Left: time.Second, Class: "timeout"}, Deadline: r.deadline})
	r.is(2, "renewals_total", "outcome", "acknowledged")
	r.is(1, "renewals_total", "outcome", "timeout")
	r.is(0.002, "renewal_duration_seconds")
	r.is(1, "lease_remaining_lowest_seconds")
}

// Times are those at which lines were sent, not read, because reading may be late.
func TestTimes(t *testing.T) {
	t.Parallel()
	r := newRig(t, feed.Open{})
	r.pass(20 * time.Second)
	r.acquired()
	r.is(20, "wait_duration_seconds")
	r.kinds(event.Started)
	r.pass(8 * time.Second)
	late := feed.Line{At: r.time.Now(), Event: &event.Event{Kind: event.Exited}}
	r.pass(2 * time.Second)
	r.learn(late)
	r.is(8, "job_duration_seconds")
	r.kinds(event.Released)
	r.is(2, "handover_duration_seconds")
	r.pass(time.Minute)
	r.kinds(event.Rejoining)
	r.pass(5 * time.Second)
	r.acquired()
	r.is(25, "wait_duration_seconds")
	r.is(2, "terms_total")
}

// A restart is not a hand-over.
func TestHandover(t *testing.T) {
	t.Parallel()
	r := newRig(t, feed.Open{})
	r.acquired()
	r.kinds(event.Started)
	r.exited(1)
	r.kinds(event.Restarting)
	r.pass(time.Minute)
	r.kinds(event.Started, event.Resigned)
	r.pass(time.Second)
	r.kinds(event.Signalled)
	r.pass(time.Second)
	r.exited(143)
	r.pass(time.Second)
	r.kinds(event.Released)
	r.is(3, "handover_duration_seconds")
	r.is(2, "job_runs_total")
	r.is(1, "job_exits_total", "code", "1")
	r.is(1, "job_exits_total", "code", "143")
}

// A job succeeds if it ends by itself. Hooks do not count.
func TestSuccess(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before []event.Event
		code   int
		want   float64
	}{
		"success":   {nil, 0, 1_700_000_000},
		"failure":   {nil, 1, absent},
		"signalled": {[]event.Event{{Kind: event.Signalled}}, 0, absent},
		"lost":      {[]event.Event{{Kind: event.Lost}}, 0, absent},
		"hook":      {[]event.Event{{Kind: event.Signalled, Hook: "standby"}}, 0, 1_700_000_000},
	} {
		r := newRig(t, feed.Open{})
		r.acquired()
		r.kinds(event.Started)
		for _, e := range tt.before {
			r.tell(e)
		}
		r.exited(tt.code)
		if got := r.value("leaderrun_job_last_success_timestamp_seconds"); got != tt.want {
			t.Errorf("%s: the last success is %v, want %v", name, got, tt.want)
		}
	}
	r := newRig(t, feed.Open{})
	code := 0
	r.tell(event.Event{Kind: event.Started, Hook: "elected"})
	r.tell(event.Event{Kind: event.Exited, Hook: "elected", Code: &code})
	r.is(0, "job_runs_total")
	r.is(absent, "job_last_success_timestamp_seconds")
	r.is(1, "transitions_total", "event", "exited", "class", "")
}
