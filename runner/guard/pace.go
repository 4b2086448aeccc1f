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

// endPatience is how long a guard that has nothing left to do may take to end. What is
// frozen does not.
const endPatience = time.Second

// awaitEnd returns when it has ended, by itself or as it was too slow.
func (c *child) awaitEnd() {
	timer := time.AfterFunc(endPatience, c.kill)
	defer timer.Stop()
	<-c.ended
}
