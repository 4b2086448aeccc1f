package trace

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// Now is this moment by the machine's boot clock.
func Now() clock.Instant { return OfMachine(clock.Boot{}.Now()) }

// OfMachine converts a reading of the host's boot clock to the machine's.
func OfMachine(i clock.Instant) clock.Instant { return i.Add(-Ahead()) }

// Ahead is by how much the host's boot clock is ahead of the machine's.
func Ahead() time.Duration {
	d, _ := time.ParseDuration(os.Getenv(AheadVariable)) // 0 if it is not set
	return d
}

// ClockVariable holds a Clock in a program's environment.
const ClockVariable = "FLEET_CLOCK"

// A Clock is the wall clock of a host on which time passes faster: it showed Wall
// at the moment At, and gains Factor seconds in each.
type Clock struct {
	Wall   time.Time
	At     clock.Instant
	Factor int64
}

// Read returns what the clock shows at a moment.
func (c Clock) Read(at clock.Instant) time.Time {
	return c.Wall.Add(at.Sub(c.At) * time.Duration(c.Factor))
}

// When returns the moment at which the clock shows a time.
func (c Clock) When(t time.Time) clock.Instant {
	return c.At.Add(t.Sub(c.Wall) / time.Duration(c.Factor))
}

// Set returns a clock that differs from c by d.
func (c Clock) Set(d time.Duration) Clock {
	c.Wall = c.Wall.Add(d)
	return c
}

// String is the clock as a variable holds it.
func (c Clock) String() string { return fmt.Sprint(c.Wall.UnixNano(), " ", int64(c.At), " ", c.Factor) }

// FromEnvironment returns the clock that a program must use, if any.
func FromEnvironment() (Clock, bool) {
	var wall, at, factor int64
	n, err := fmt.Fscan(strings.NewReader(os.Getenv(ClockVariable)), &wall, &at, &factor)
	return Clock{time.Unix(0, wall), clock.Instant(at), factor}, err == nil && n == 3
}
