// Package heartbeat reports to others, such as a service manager, that leaderrun is well. This
// is a package of its own because those to whom it reports need only its stages.
package heartbeat

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

// A Heartbeat calls a function at once, and again after each pause that the function
// returns (0: never again). The calls are made by the goroutine on which safety depends,
// when it has nothing else to do. If that goroutine is stuck, there are no calls, whatever
// else still runs. The zero Heartbeat makes no calls.
type Heartbeat struct {
	C     <-chan struct{} // closed when Beat must be called; nil: never
	Stage Stage

	beat  func(Stage) time.Duration
	clock clock.Clock
	timer *clock.Timer
}

// New returns the heartbeat of a stage. If beat is nil, it makes no calls.
func New(beat func(Stage) time.Duration, clock clock.Clock, stage Stage) *Heartbeat {
	h := &Heartbeat{beat: beat, clock: clock, Stage: stage}
	if beat != nil {
		h.set(0)
	}
	return h
}

// Beat makes the call that is due.
func (h *Heartbeat) Beat() {
	pause := h.beat(h.Stage)
	h.Stop()
	if pause > 0 {
		h.set(pause)
	}
}

func (h *Heartbeat) set(pause time.Duration) {
	h.timer = clock.NewPause(h.clock, h.clock.Now().Add(pause))
	h.C = h.timer.C
}

// Stop ends the stage.
func (h *Heartbeat) Stop() {
	if h.C != nil {
		h.timer.Stop()
		h.C = nil
	}
}
