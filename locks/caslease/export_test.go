package caslease

import (
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/clock"
)

// NewSimulated is New for a bubble of testing/synctest, where only package time tells
// the time.
func NewSimulated(s Store, t Traits, o locks.Options) *Lock {
	l := New(s, t, o)
	l.clock = bubbleClock{}
	return l
}

type bubbleClock struct{}

func (bubbleClock) Now() clock.Instant { return clock.Instant(time.Now().UnixNano()) }
