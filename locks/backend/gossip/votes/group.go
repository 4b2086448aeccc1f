package votes

import (
	"fmt"
	"time"
)

// The bounds of a Group.
const (
	MaxSeats   = 99
	MaxLongest = 24 * time.Hour
)

// A Group is what all members must agree on. Members of different groups never vote for each
// other.
type Group struct {
	Seats   int           `json:"seats"`      // N, in [1, MaxSeats]
	Longest time.Duration `json:"longest_ns"` // no lease is longer; in (0, MaxLongest]
}

// Check reports what is wrong with a group.
func (g Group) Check() error {
	switch {
	case g.Seats < 1 || g.Seats > MaxSeats:
		return fmt.Errorf("invalid number of voters %d (want 1 to %d)", g.Seats, MaxSeats)
	case g.Longest <= 0 || g.Longest > MaxLongest:
		return fmt.Errorf("invalid longest lease %v (want at most %v)", g.Longest, MaxLongest)
	}
	return nil
}

// Majority returns how many voters have a voter in common with as many others.
func (g Group) Majority() int { return g.Seats/2 + 1 }

// trusted returns how much of a lease a candidate may use: L(1 − 2ρ), with ρ = 500 ppm. It
// is the rule of package keepalive.
func trusted(ttl time.Duration) time.Duration { return ttl - ttl/1000 }
