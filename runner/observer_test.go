package runner

import (
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
)

// A counter counts the calls of its methods, in their order.
type counter struct {
	calls [5]int
	pause time.Duration
}

func (c *counter) Event(event.Event)         { c.calls[0]++ }
func (c *counter) Renewed(keepalive.Renewal) { c.calls[1]++ }
func (c *counter) Waiting(locks.Waiting)     { c.calls[2]++ }
func (c *counter) CampaignEnded()            { c.calls[3]++ }
func (c *counter) Heartbeat(heartbeat.Stage) time.Duration {
	c.calls[4]++
	return c.pause
}

// TestObservers: each call reaches each observer, and the shortest pause of a heartbeat counts.
func TestObservers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pauses [2]time.Duration
		want   time.Duration
	}{
		{[2]time.Duration{0, 0}, 0},
		{[2]time.Duration{0, 5}, 5},
		{[2]time.Duration{5, 0}, 5},
		{[2]time.Duration{5, 3}, 3},
		{[2]time.Duration{3, 5}, 3},
	} {
		a, b := &counter{pause: test.pauses[0]}, &counter{pause: test.pauses[1]}
		all := Observers{a, Unobserved{}, b}
		all.Event(event.Event{})
		all.Renewed(keepalive.Renewal{})
		all.Waiting(locks.Waiting{})
		all.CampaignEnded()
		if got := all.Heartbeat(heartbeat.Waiting); got != test.want {
			t.Errorf("pauses %v: got %v; want %v", test.pauses, got, test.want)
		}
		for _, c := range []*counter{a, b} {
			if c.calls != [5]int{1, 1, 1, 1, 1} {
				t.Errorf("got %v; want one call of each method", c.calls)
			}
		}
	}
}
