package runner

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/event"
)

// classes returns the events that have a class, or that a test asks for, once each
// in a row.
func (r *rig) classes() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, e := range r.events {
		what := fmt.Sprintf("%s/%s", e.Kind, e.Class)
		if e.Class != "" && (len(all) == 0 || all[len(all)-1] != what) {
			all = append(all, what)
		}
	}
	return strings.Join(all, " ")
}

// Each way to end has its class, by which scripts and metrics count.
func TestEventClasses(t *testing.T) {
	for name, test := range map[string]struct {
		setup func(r *rig)
		want  string
	}{
		"end": {func(r *rig) { r.job.begin = runs(seconds(2), 3) }, ""},
		"wait": {func(r *rig) {
			r.acquire = []acquisition{fails(errDown), waits(seconds(1), "bob", granted)}
			r.job.begin = runs(seconds(2), 0)
		}, "unavailable/unavailable waiting/held"},
		"signal":      {func(r *rig) { r.job.on = deaf; r.send(seconds(2), syscall.SIGTERM) }, "signalled/signal killed/signal"},
		"leftovers":   {func(r *rig) { r.job.begin = forks(seconds(2), 0) }, "signalled/leftovers"},
		"max runtime": {func(r *rig) { r.c.MaxRuntime = time.Second }, "signalled/runtime"},
		"resigned":    {func(r *rig) { r.at(time.Second, func() { r.asked <- Request{}.Encode() }) }, "resigned/resigned signalled/resigned"},
		"partition": {func(r *rig) { r.job.on, r.renew = deaf, silentAfter(0) },
			"renew_failed/timeout lost/expired signalled/expired renew_failed/timeout killed/expired"},
		"loss": {func(r *rig) {
			r.at(time.Second, func() { r.server.evict(); r.lost <- locks.ErrLost })
		}, "lost/lost killed/lost"},
		"release fails": {func(r *rig) {
			r.job.begin, r.release = runs(seconds(2), 0), reply{err: errors.New("odd")}
		}, "release_failed/error"},
		"restart": {func(r *rig) {
			r.c.Restart = Restart{OnFailure: true, Delay: time.Second, MaxDelay: time.Minute}
			r.job.begin = runs(seconds(2), 3)
			r.send(seconds(2.1), syscall.SIGTERM)
		}, "restarting/failed"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				test.setup(r)
				_, _ = r.run()
				if got := r.classes(); got != test.want {
					t.Errorf("got  %s\nwant %s", got, test.want)
				}
			})
		})
	}
}

// There is an event if the lock is not released because the job survives.
func TestReleaseFailedEvent(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.outlived = true
		r.renew = silentAfter(1)
		r.job.on, r.job.immortal = deaf, true
		_, _ = r.run()
		if last := r.events[len(r.events)-1]; last.Kind != event.ReleaseFailed || last.Class != event.ClassLeftovers {
			t.Errorf("the last event is %+v", last)
		}
	})
}

// A reason may be a text of any length that somebody else wrote. It is cut so that a pipe takes
// a line with it whole.
func TestReasonsAreShort(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.job.begin, r.release = runs(seconds(2), 0), reply{err: errors.New(strings.Repeat("ä", 5000))}
		_, _ = r.run()
		if last := r.events[len(r.events)-1]; len(last.Reason) > maxReason+len("…") || !strings.HasSuffix(last.Reason, "ä…") {
			t.Errorf("got %d bytes: %q", len(last.Reason), last.Reason)
		}
	})
}
