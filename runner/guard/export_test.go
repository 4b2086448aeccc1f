package guard

import "time"

// SetPatience is for tests of several guards in one process: when leaderrun takes
// over from one of them, it kills the others, too.
func (g *Guard) SetPatience(d time.Duration) { g.patience = d }

// PID is the guard's process id.
func (g *Guard) PID() int {
	<-g.ready
	return g.child.pid
}
