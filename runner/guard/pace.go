package guard

import "time"

// How often a kill is repeated, for what was just being started when the last
// one went out, and how often it is looked whether anything is left: at first in
// quick succession, then, if something survives even that, seldom.
const (
	quickly = 500 * time.Microsecond
	slowly  = 20 * time.Millisecond
	many    = 200
)

// How long a guard that has nothing left to do may take to end, and then to die. What is
// frozen does not end, and there is what does not die, either.
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
