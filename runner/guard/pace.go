package guard

import "time"

// The pauses between kills, which are repeated for processes that were just being started,
// and between looks at whether anything is left: short at first, and longer after many,
// if something survives even that.
const (
	quickly = 500 * time.Microsecond
	slowly  = 20 * time.Millisecond
	many    = 200
)

// How long a guard that has nothing left to do may take to end, and then to die. A frozen
// one does not end, and some processes cannot be killed.
const (
	endPatience   = time.Second
	deathPatience = 10 * time.Second
)

// awaitEnd returns when it has ended, by itself or as it was too slow, or cannot be ended.
func (c *child) awaitEnd() {
	timer := time.AfterFunc(endPatience, c.kill)
	defer timer.Stop()
	select {
	case <-c.ended:
	case <-time.After(endPatience + deathPatience):
	}
}
