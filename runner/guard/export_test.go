package guard

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// SetPatience sets how long the guard may take to acknowledge a kill. In tests of several
// guards in one process, none may count as failed.
func (g *Client) SetPatience(d time.Duration) { g.patience = d }

// Begun is like Start, but waits until the job was started.
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

// SetStartsCheck sets how long the guard may take to start a health check.
func (g *Client) SetStartsCheck(d time.Duration) { g.startsCheck = d }

// SetPingPause sets the pause between pings.
func (g *Client) SetPingPause(d time.Duration) { g.pingPause = d }

// GroupOf returns the group of a health check.
func GroupOf(a proc.HealthCheck) int { return a.(*check).pid }

// PID returns the guard's process id.
func (g *Client) PID() int {
	<-g.ready
	return g.child.pid
}

// AwaitEnd waits until the guard's process has been reaped.
func (g *Client) AwaitEnd() { <-g.child.ended }

// Ended reports whether the guard's process has been reaped.
func (g *Client) Ended() bool { return proc.IsClosed(g.child.ended) }

// SetSweep sets the function by which leaderrun kills a job without its guard. The function
// gets the known groups, and reports whether nothing is left.
func (g *Client) SetSweep(f func(groups []int) (clean bool)) {
	g.sweep = func(j *job) bool { return f(j.groups()) }
}
