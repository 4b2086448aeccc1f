package runner

import (
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
)

// An Observer learns what happens in a run. Its methods are called from several goroutines, and
// must not block: leaderrun would not react to anything else meanwhile.
type Observer interface {
	Event(e event.Event)
	// Renewed is called after each attempt to renew the lease of a term, by the goroutine
	// that renews.
	Renewed(r keepalive.Renewal)
	// Waiting is called while the lock is held by others, each time we learn about that.
	Waiting(w locks.Waiting)
	// CampaignEnded is called when a campaign has ended, before a job is started. It alone
	// may block for a moment.
	CampaignEnded()
	// Heartbeat is called as package heartbeat says, one call at a time.
	Heartbeat(s heartbeat.Stage) (pause time.Duration)
}

// Unobserved is an Observer that ignores everything. Others embed it, and have methods for
// what they want to know.
type Unobserved struct{}

// Event implements [Observer].
func (Unobserved) Event(event.Event) {}

// Renewed implements [Observer].
func (Unobserved) Renewed(keepalive.Renewal) {}

// Waiting implements [Observer].
func (Unobserved) Waiting(locks.Waiting) {}

// CampaignEnded implements [Observer].
func (Unobserved) CampaignEnded() {}

// Heartbeat implements [Observer].
func (Unobserved) Heartbeat(heartbeat.Stage) time.Duration { return 0 }

// Observers are one Observer. Each call goes to all of them, in their order.
type Observers []Observer

// Event implements [Observer].
func (all Observers) Event(e event.Event) {
	for _, o := range all {
		o.Event(e)
	}
}

// Renewed implements [Observer].
func (all Observers) Renewed(r keepalive.Renewal) {
	for _, o := range all {
		o.Renewed(r)
	}
}

// Waiting implements [Observer].
func (all Observers) Waiting(w locks.Waiting) {
	for _, o := range all {
		o.Waiting(w)
	}
}

// CampaignEnded implements [Observer].
func (all Observers) CampaignEnded() {
	for _, o := range all {
		o.CampaignEnded()
	}
}

// Heartbeat implements [Observer]. The shortest pause counts.
func (all Observers) Heartbeat(s heartbeat.Stage) (pause time.Duration) {
	for _, o := range all {
		if p := o.Heartbeat(s); p > 0 && (pause == 0 || p < pause) {
			pause = p
		}
	}
	return pause
}

var (
	_ Observer = Unobserved{}
	_ Observer = Observers(nil)
)
