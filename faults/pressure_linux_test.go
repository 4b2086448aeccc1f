package faults

import (
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// contention says how much the cells, which share the machine, take from each other.
var contention = pressure{read: func() (time.Time, time.Duration) {
	waited, _ := trial.Waited()
	return time.Now(), waited
}}

// A pressure counts for how long any process waited for a processor, in the time in which no fault
// held one back: for Linux, who has used up a limit waits for a processor as well. It is safe for
// concurrent use.
type pressure struct {
	read func() (now time.Time, waited time.Duration) // what Linux has counted by now

	mu   sync.Mutex
	held int // how many faults hold processes back
	at   time.Time
	seen time.Duration // what Linux had counted by then

	waited, passed time.Duration
}

// advance counts what was until now.
func (p *pressure) advance() {
	now, seen := p.read()
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

// TestContention: a time in which a fault holds a process back does not count.
func TestContention(t *testing.T) {
	var now time.Time
	var waited time.Duration
	p := pressure{read: func() (time.Time, time.Duration) { return now, waited }}
	pass := func(d, w time.Duration) { now, waited = now.Add(d), waited+w }
	pass(time.Hour, time.Hour) // before the first look
	share := p.share()
	pass(8*time.Second, time.Second)
	one, other := p.hold(), p.hold()
	pass(5*time.Second, 5*time.Second)
	one()
	pass(5*time.Second, 5*time.Second)
	other()
	pass(2*time.Second, time.Second)
	if got := share(); got != 0.2 {
		t.Errorf("got a share of %v, want 0.2", got)
	}
	if got := p.share()(); got != 0 {
		t.Errorf("got a share of %v of no time, want 0", got)
	}
}
