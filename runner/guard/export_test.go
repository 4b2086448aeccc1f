package guard

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// SetPatience is for tests of several guards in one process, which is not to take over
// from one of them.
func (g *Client) SetPatience(d time.Duration) { g.patience = d }

// Begun is Start for tests that want no more than a job that runs, or why there is none.
func (g *Client) Begun(c proc.Command, killBy clock.Instant) (proc.Job, error) {
	j, err := g.Start(c, killBy)
	if err != nil {
		return nil, err
	}
	select {
	case err = <-j.Started():
	case err = <-j.Failed():
	}
	if err != nil {
		return nil, err
	}
	return j, nil
}

// SetStartsCheck is for tests of a guard that is slow to start a health check in
// its job.
func (g *Client) SetStartsCheck(d time.Duration) { g.startsCheck = d }

// SetPingPause is for tests that cannot wait as long as leaderrun does.
func (g *Client) SetPingPause(d time.Duration) { g.pingPause = d }

// GroupOf is the group of a health check in a job.
func GroupOf(a proc.HealthCheck) int { return a.(*check).pid }

// PID is the guard's process id.
func (g *Client) PID() int {
	<-g.ready
	return g.child.pid
}

// AwaitEnd waits until the guard's process has been reaped.
func (g *Client) AwaitEnd() { <-g.child.ended }

// Ended reports whether it has been.
func (g *Client) Ended() bool { return isClosed(g.child.ended) }
