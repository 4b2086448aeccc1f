package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/runner/event"
)

// A Restart says whether a job is started again if it ended without being asked to. The
// zero Restart never does that.
type Restart struct {
	OnFailure bool // start it again if it failed or ran for too long
	OnSuccess bool // start it again if it succeeded
	// Delay is the pause before the first restart in a row, and MaxDelay the longest
	// pause. The pause doubles, and a random part of it, up to half, is left out. A job
	// that ran for MaxDelay was healthy: its restart is the first in a row.
	Delay, MaxDelay time.Duration
	// GiveUpAfter, if positive, is how many failures in a row end the term.
	GiveUpAfter int
}

func (p Restart) wants(failed bool) bool { return failed && p.OnFailure || !failed && p.OnSuccess }

func (p Restart) backoff() backoff.Backoff {
	return backoff.Backoff{Shortest: p.Delay, Longest: p.MaxDelay}
}

// A TimeoutError says that the job was ended because it ran for too long.
type TimeoutError struct{ Limit time.Duration }

func (e *TimeoutError) Error() string { return fmt.Sprintf("it ran for longer than %v", e.Limit) }

// runJobs runs the job, and again as often as Restart says, under one lease. It returns
// when nothing of the job is left. The outcome has no error if the job ended by itself, or
// by a signal that we received.
func (t *term) runJobs() outcome {
	pause, failures := t.r.Restart.backoff(), 0
	for {
		began := t.r.Clock.Now()
		o := t.run(t.job())
		if t.sent != nil || o.err != nil && !o.class().restart || t.starved(o) {
			return o
		}
		if t.r.Clock.Now().Sub(began) >= t.r.Restart.MaxDelay { // it was healthy for a while
			pause.Reset()
			failures = 0
		}
		if o.failed() {
			failures++
		} else {
			failures = 0
		}
		switch {
		case !t.r.Restart.wants(o.failed()):
			return o
		case t.r.Restart.GiveUpAfter > 0 && failures >= t.r.Restart.GiveUpAfter:
			t.gaveUp = true
			t.report.emit(event.Event{Kind: event.Resigned, Class: event.ClassFailed, Reason: fmt.Sprintf("the job has failed %d times in a row", failures)})
			t.report.log.Warn("the job keeps failing here; giving up the lock", "failures", failures)
			return o
		}
		wait := pause.Take()
		t.report.log.Log(context.Background(), o.level(), "starting the job again", "pause", wait.Round(time.Millisecond), "err", o.reason())
		t.report.emit(event.Event{Kind: event.Restarting, Class: o.class().word, Reason: o.reason()})
		if err := t.idle(wait); err != nil {
			return outcome{err: err}
		}
	}
}

// job returns the task that is the job. It has the terminal that we were started on.
func (t *term) job() *task {
	k := t.task(t.r.Command, t.env)
	k.isJob, k.longest, k.draining = true, t.r.MaxRuntime, t.draining
	if t.r.Health != nil {
		k.health = t.checkHealth
	}
	k.tty = t.r.host.Terminal()
	if t.detached = k.tty == nil; !t.detached {
		k.command.Terminal = k.tty.Offer()
	}
	k.detached = t.detached
	return k
}
