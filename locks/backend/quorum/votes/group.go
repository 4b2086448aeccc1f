package votes

import (
	"fmt"
	"time"
)

// The bounds of a Group.
const (
	MaxSeats   = 9
	MaxLongest = time.Minute
)

// A Group is what all members must agree on. Members of different groups never vote for each
// other.
type Group struct {
	Seats   int           `json:"seats"`      // N, in [1, MaxSeats]
	Longest time.Duration `json:"longest_ns"` // no lease is longer; in (0, MaxLongest]
	List    string        `json:"list"`       // names the list of seats, as a hash of it does; at most MaxID bytes
}

// Check reports what is wrong with a group.
func (g Group) Check() error {
	switch {
	case g.Seats < 1 || g.Seats > MaxSeats:
		return fmt.Errorf("invalid number of voters %d (want 1 to %d)", g.Seats, MaxSeats)
	case g.Longest <= 0 || g.Longest > MaxLongest:
		return fmt.Errorf("invalid longest lease %v (want at most %v)", g.Longest, MaxLongest)
	case g.List == "" || len(g.List) > MaxID:
		return fmt.Errorf("invalid list of seats of %d bytes (want 1 to %d)", len(g.List), MaxID)
	}
	return nil
}

// Majority returns how many voters have a voter in common with as many others.
func (g Group) Majority() int { return g.Seats/2 + 1 }

// delta is by how much more two readings of a clock may differ, or less, than its rate explains:
// see package clock, which takes the time in suspend from two of the kernel's clocks.
const delta = 2 * time.Millisecond

// trusted returns how much of a lease a candidate may use: L(1 − 2ρ) − 2δ, with ρ = 500 ppm.
func trusted(ttl time.Duration) time.Duration { return ttl - ttl/1000 - 2*delta }

// shortest is the shortest lease of which anything can be used.
const shortest = 5 * time.Millisecond
