package guard

import "time"

// The pauses between kills, and between looks for processes that are left. Kills are repeated
// for processes that were just being started. If processes survive, the pauses are longer
// after shortPauses short ones.
const (
	shortPause  = 500 * time.Microsecond
	longPause   = 20 * time.Millisecond
	shortPauses = 200
)

// How long a guard that has nothing left to do may take to end, and then to die. A frozen
// guard does not end, and some processes cannot be killed.
const (
	endPatience   = time.Second
	deathPatience = 10 * time.Second
)

// awaitEnd waits for the end of the process. It kills the process after endPatience, and
// returns at the latest deathPatience after that.
func (c *child) awaitEnd() {
	timer := time.AfterFunc(endPatience, c.kill)
	defer timer.Stop()
	select {
	case <-c.ended:
	case <-time.After(endPatience + deathPatience):
	}
}
