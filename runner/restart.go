package runner

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A Restart says what follows the end of a job that nobody asked to end. The
// zero Restart is never to start it again.
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

// restarting waits before the job is started again. An error ends the term.
func (r *run) restarting(pause time.Duration, exit proc.Exit, err error) error {
	reason := reasonOf(exit, err)
	r.Logger.Log(context.Background(), severity(exit, err), "starting the job again", "pause", pause.Round(time.Millisecond), "err", reason)
	r.emit(Event{Kind: EventRestarting, Class: classOfEnd(exit, err), Reason: reason})
	return r.idle(pause)
}

// final reports whether a term that ended with err is the last one.
func (r *run) final(err error) bool {
	var start *proc.StartError
	switch {
	case !r.Rejoin, r.sent != nil, errors.As(err, new(*SignalError)), errors.As(err, &start) && !proc.Passing(err), r.unkillable:
		return true
	case errors.Is(err, locks.ErrLost):
		return false
	}
	return err != nil && !again(err)
}

// stepAside is how long we stay away, at least, from a lock that we gave up when
// we could have kept it: where nobody is told that it is free, others look for it
// every few seconds, and it is to be one of them who finds it.
const stepAside = 4 * time.Second

// pause is how long to wait until the next campaign after a term. A lock that
// was lost is missed by everybody, and campaigned for at once, unless it was lost
// as soon as we had it: what is wrong here may not have passed. One that was given
// up is to be somebody else's, if there is anybody.
func (r *run) pause(b *backoff.Backoff, err error) time.Duration {
	ran := time.Duration(0)
	if r.began != 0 {
		ran = r.Clock.Now().Sub(r.began)
	}
	switch {
	case errors.Is(err, locks.ErrLost) && r.began != 0 && ran >= r.Restart.Delay:
		return 0
	case r.gaveUp:
		return r.Restart.MaxDelay/2 + rand.N(max(r.Restart.MaxDelay/2, 1))
	case r.grant.TTL > 0 && errors.As(err, new(*ResignError)):
		return max(b.Take(), stepAside)
	case r.began != 0 && ran >= r.Restart.MaxDelay:
		b.Reset()
	}
	return b.Take()
}

// rejoining tells of a term that is over, and that another campaign follows.
func (r *run) rejoining(wait time.Duration, exit proc.Exit, err error) {
	reason := reasonOf(exit, err)
	why := reason
	if errors.Is(err, locks.ErrLost) {
		why = "leadership was lost and the job was stopped: " + reason
	}
	r.Logger.Log(context.Background(), severity(exit, err), "campaigning again", "pause", wait.Round(time.Millisecond), "err", why)
	r.emit(Event{Kind: EventRejoining, Class: classOfEnd(exit, err), Reason: reason})
}

// severity is that of the end of a job after which we go on.
func severity(exit proc.Exit, err error) slog.Level {
	if err != nil || exit.Status() != 0 {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// rest waits before a campaign. Only a signal, or the end of ctx, cuts it short.
func (r *run) rest(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	ctx, stop := r.untilSignal(ctx)
	_ = backoff.Sleep(ctx, d)
	return stop()
}
