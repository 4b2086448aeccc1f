package faults

import (
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// contention says how much the cells, which share the machine, take from each other.
var contention pressure

// A pressure counts for how long any process waited for a processor, in the time in which no fault
// held one back: for Linux, who has used up a limit waits for a processor as well. The zero value
// is ready, and safe for concurrent use.
type pressure struct {
	mu   sync.Mutex
	held int // how many faults hold processes back
	at   time.Time
	seen time.Duration // all that Linux has counted at that time

	waited, passed time.Duration
}

// advance counts what was until now.
func (p *pressure) advance() {
	now := time.Now()
	seen, _ := trial.Waited()
	if p.held == 0 && !p.at.IsZero() {
		p.waited += seen - p.seen
		p.passed += now.Sub(p.at)
	}
	p.at, p.seen = now, seen
}

// hold says that a fault holds processes back from now on, until the returned function is called.
func (p *pressure) hold() (end func()) {
	change := func(by int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.advance()
		p.held += by
	}
	change(1)
	return func() { change(-1) }
}

// share returns a function that returns the share of the time since then.
func (p *pressure) share() func() float64 {
	count := func() (waited, passed time.Duration) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.advance()
		return p.waited, p.passed
	}
	waited, passed := count()
	return func() float64 {
		w, d := count()
		if d == passed {
			return 0
		}
		return float64(w-waited) / float64(d-passed)
	}
}
