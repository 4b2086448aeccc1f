package guard

import (
	"time"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// SetPatience is for tests of several guards in one process: when leaderrun takes
// over from one of them, it kills the others, too.
func (g *Guard) SetPatience(d time.Duration) { g.patience = d }

// SetStartsAside is for tests of a guard that is slow to start what runs beside
// its job.
func (g *Guard) SetStartsAside(d time.Duration) { g.startsAside = d }

// SetAsks is for tests that cannot wait as long as leaderrun does.
func (g *Guard) SetAsks(d time.Duration) { g.asks = d }

// GroupOf is the group of what runs beside a job.
func GroupOf(a proc.Aside) int { return a.(*aside).pid }

// PID is the guard's process id.
func (g *Guard) PID() int {
	<-g.ready
	return g.child.pid
}

// AwaitEnd waits until the guard's process has been reaped.
func (g *Guard) AwaitEnd() { <-g.child.ended }
