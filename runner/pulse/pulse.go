// Package pulse tells others, such as a service manager, that leaderrun is well.
package pulse

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A Stage is how far a run has come.
type Stage int

// The stages.
const (
	Waiting  Stage = iota // for the lock
	Leading               // the job runs, the lease is ours for certain, and nothing stops the job
	Stopping              // the job is being stopped for good, and the lease is ours for certain
	Over                  // nothing of a job runs, and the lock is about to be released
)

// A Pulse is the calls of a function in one stage: the first at once, and each other
// when the time is over that the one before returned (0: never). The goroutine on which
// the safety of that stage depends makes them when it has nothing else to do: if it is
// stuck, there are no calls, whatever else still runs. The zero Pulse has no calls.
type Pulse struct {
	C     <-chan struct{} // closed when Beat is to be called; nil: never
	Stage Stage

	alive func(Stage) time.Duration
	clock clock.Clock
	timer *clock.Timer
}

// New begins a stage. If alive is nil, there are no calls.
func New(alive func(Stage) time.Duration, clock clock.Clock, stage Stage) *Pulse {
	p := &Pulse{alive: alive, clock: clock, Stage: stage}
	if alive != nil {
		p.set(0)
	}
	return p
}

// Beat makes the call that is due.
func (p *Pulse) Beat() {
	pause := p.alive(p.Stage)
	p.Stop()
	if pause > 0 {
		p.set(pause)
	}
}

func (p *Pulse) set(pause time.Duration) {
	p.timer = clock.NewTimer(p.clock, p.clock.Now().Add(pause))
	p.C = p.timer.C
}

// Stop ends the stage.
func (p *Pulse) Stop() {
	if p.C != nil {
		p.timer.Stop()
		p.C = nil
	}
}
