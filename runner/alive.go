package runner

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A Stage is how far a run has come, for [Config.Alive].
type Stage int

// The stages.
const (
	StageWaiting  Stage = iota // for the lock
	StageLeading               // the job runs, the lease is surely ours, and nothing stops the job
	StageStopping              // the job is being stopped for good, and the lease is surely ours
	StageOver                  // nothing of a job runs, and the lock is about to be released
)

// A pulse is the calls of Config.Alive in one stage. They are made by the
// goroutine on which the safety of that stage depends, when it has nothing else
// to do: if it is stuck, there are none, whatever else still runs.
type pulse struct {
	C <-chan struct{} // closed when beat is to be called; nil: never

	run   *run
	stage Stage
	timer *clock.Timer
}

// pulse begins a stage.
func (r *run) pulse(stage Stage) *pulse {
	p := &pulse{run: r, stage: stage}
	if r.Alive != nil {
		p.set(0)
	}
	return p
}

func (p *pulse) beat() {
	pause := p.run.Alive(p.stage)
	p.stop()
	if pause > 0 {
		p.set(pause)
	}
}

func (p *pulse) set(pause time.Duration) {
	p.timer = clock.NewTimer(p.run.Clock, p.run.Clock.Now().Add(pause))
	p.C = p.timer.C
}

func (p *pulse) stop() {
	if p.C != nil {
		p.timer.Stop()
		p.C = nil
	}
}

// lasts reports whether something may follow the end of a job. Then that is not
// the end of us, as far as is told, even if we were sent a signal.
func (r *run) lasts() bool { return r.Rejoin || r.Restart.OnFailure || r.Restart.OnSuccess }

// stage is that in which a command runs: without a lease nobody leads.
func (r *run) stage() Stage {
	if r.lease == nil {
		return StageWaiting
	}
	return StageLeading
}

// beat says that we lead, or are about to end that, if the lease is surely ours.
func (s *supervisor) beat() {
	if s.lostLease() != nil {
		s.pulse.stop()
		return
	}
	if s.stopping && !s.lasts() {
		s.pulse.stage = StageStopping
	}
	s.pulse.beat()
}
