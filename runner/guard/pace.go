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
