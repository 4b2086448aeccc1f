package runner

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/runner/event"
)

// A Restart says whether a job that ended without being asked to is started again. The
// zero Restart never does that.
type Restart struct {
	OnFailure bool // start it again if it failed or ran for too long
	OnSuccess bool // start it again if it succeeded
	// Delay is the pause before the first restart in a row, and MaxDelay the
	// longest; the pause doubles, and a random half of it is left out. A run that
	// lasts for MaxDelay was healthy: the next one is the first in a row.
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

// runJobs runs the job, and again as often as Restart says, under one lease. It
// returns when nothing of it is left. Without an error the job ended by itself,
// or by a signal that we were sent.
func (t *term) runJobs() outcome {
	pause, failures := t.c.Restart.backoff(), 0
	for {
		began := t.c.Clock.Now()
		o := t.run(t.job())
		if t.sent != nil || o.err != nil && !o.class().restart {
			return o
		}
		if t.c.Clock.Now().Sub(began) >= t.c.Restart.MaxDelay { // it was healthy for a while
			pause.Reset()
			failures = 0
		}
		if o.failed() {
			failures++
		} else {
			failures = 0
		}
		switch {
		case !t.c.Restart.wants(o.failed()):
			return o
		case t.c.Restart.GiveUpAfter > 0 && failures >= t.c.Restart.GiveUpAfter:
			t.gaveUp = true
			t.report.log.Warn("the job keeps failing here, and the lock is given up", "failures", failures)
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

// job returns the task that is the job, with the terminal that we were started on.
func (t *term) job() *task {
	k := t.task(t.c.Command, t.env)
	k.isJob, k.longest = true, t.c.MaxRuntime
	if t.c.Health != nil {
		k.health = t.checkHealth
	}
	if t.c.Terminal != nil {
		k.tty = t.c.Terminal()
	}
	if t.detached = k.tty == nil; !t.detached {
		k.command.Terminal = k.tty.Offer()
	}
	k.detached = t.detached
	return k
}

// rejoining reports that another campaign follows a term.
func (t *term) rejoining(wait time.Duration, o outcome) {
	why := o.reason()
	if o.class().lost {
		why = "leadership was lost and the job was stopped: " + why
	}
	t.report.log.Log(context.Background(), o.level(), "campaigning again", "pause", wait.Round(time.Millisecond), "err", why)
	t.report.emit(event.Event{Kind: event.Rejoining, Class: o.class().word, Reason: o.reason()})
}

// lasts reports whether something may follow the end of a job. If so, a job that is being
// stopped does not mean that we are.
func (c *Config) lasts() bool { return c.Rejoin || c.Restart.OnFailure || c.Restart.OnSuccess }

// isLast reports whether a term with this outcome is the last one.
func (t *term) isLast(o outcome) bool {
	c := o.class()
	return !t.c.Rejoin || t.sent != nil || t.unkillable || c.final && !c.lost
}

// minPause is how long we stay away, at least, from a lock that we gave up when
// we could have kept it: where nobody is told that it is free, others look for it
// every few seconds, and one of them is to find it.
const minPause = 4 * time.Second

// pause returns how long to wait until the next campaign after a term. A lock that
// was lost is missed by everybody, and campaigned for at once, unless it was lost
// as soon as we had it: what is wrong here may not have passed. One that was given
// up is to be somebody else's, if there is anybody.
func (t *term) pause(b *backoff.Backoff, o outcome) time.Duration {
	ran := time.Duration(-1)
	if t.began != 0 {
		ran = t.c.Clock.Now().Sub(t.began)
	}
	switch c := o.class(); {
	case c.lost && ran >= t.c.Restart.Delay:
		return 0
	case t.gaveUp:
		return t.c.Restart.MaxDelay/2 + rand.N(max(t.c.Restart.MaxDelay/2, 1))
	case t.grant.TTL > 0 && c.word == event.ClassResigned:
		return max(b.Take(), minPause)
	case ran >= t.c.Restart.MaxDelay:
		b.Reset()
	}
	return b.Take()
}
