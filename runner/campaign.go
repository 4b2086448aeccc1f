package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/answers"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
	"github.com/leaderrun/leaderrun/runner/signals"
)

// The pause before another attempt grows from firstPause to lastPause. A random part of
// it, up to half, is left out, so that a fleet does not ask in step.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 5 * time.Second
)

// A campaign waits for the lock. Its fields do not change during an attempt, except outage,
// which belongs to the goroutine that waits.
type campaign struct {
	r       *run
	report  reporter
	limit   *limit
	standby *standby
	outage  outage
	answers *answers.Answers // of all attempts
	confirm bool             // the wait is over, but we watch whether the holder is gone: see unconfirmed
}

// campaign waits for the lock as long as it may. It returns the term, or why we did not
// get the lock.
func (r *run) campaign(ctx context.Context) (*term, error) {
	cp := &campaign{r: r, report: r.reporter(), standby: newStandby(), outage: outage{}}
	cp.answers = answers.New(r.Clock, r.Timing.TTL, r.ConnectTimeout)
	t, err := cp.wait(ctx)
	r.observer.CampaignEnded()
	if err != nil {
		cp.standby.end()
	}
	return t, err
}

// wait makes one attempt after another, unless the first of the run is refused: then what the
// user wrote is probably wrong, such as the name of a database. Later, others may be at work.
func (cp *campaign) wait(ctx context.Context) (*term, error) {
	untilSignal, stop := cp.r.untilSignal(ctx)
	ctx, cp.limit = cp.r.limited(untilSignal)
	defer func() { cp.limit.cancel() }()
	pauses := backoff.Backoff{Shortest: firstPause, Longest: lastPause}
	for first := !cp.r.worked; ; first = false {
		a := &attempt{campaign: cp, finished: make(chan struct{})}
		t, err := a.run(ctx)
		if err == nil {
			return a.won(t, stop())
		}
		why := a.verdict(err)
		cp.limit.answered()
		cl := classify(why)
		cl.final = cl.final || first && !a.answered() && errors.Is(why, locks.ErrRefused)
		if (!cp.r.Try || cp.confirm || cl.out) && !cl.final && ctx.Err() == nil {
			cp.outage.report(cp.report, why)
			pause := pauses.Take()
			if !a.steppedBack { // else the preferred waiter is before our new place
				_ = backoff.Sleep(ctx, pause)
			}
			if ctx.Err() == nil {
				continue
			}
		}
		if !cl.final {
			why = cp.answers.Verdict(fmt.Errorf("%w: %s gave no answer in time", locks.ErrUnavailable, cp.r.Backend))
		}
		if d := cp.unconfirmed(why); d > 0 && untilSignal.Err() == nil {
			cp.limit.cancel()
			cp.confirm, cp.limit = true, new(limit)
			ctx, cp.limit.cancel = context.WithTimeout(untilSignal, d+cp.r.ConnectTimeout)
			continue
		}
		if err := stop(); err != nil {
			return nil, err
		}
		return nil, why
	}
}

// longestConfirm is the longest that we watch on, after the wait, if our lease is not longer. The
// former holder's may be: anybody may have written its length.
const longestConfirm = time.Hour

// unconfirmed returns for how long we must still watch a lock, although the wait is over,
// because its lease has ended, but only by a clock that may be wrong; 0: not at all. A run that
// never waits for that, such as a cron job with -n, would never take over from a dead host.
func (cp *campaign) unconfirmed(err error) time.Duration {
	held, ok := errors.AsType[*locks.HeldError](err)
	if !ok || cp.confirm || held.Status.Confirm > max(longestConfirm, cp.r.Timing.TTL) {
		return 0
	}
	return held.Status.Confirm
}

// An outage is the set of reasons that were reported since the backend last answered.
type outage map[string]bool

// maxReasons bounds the reports of one outage: a reason may contain a port, which differs
// each time.
const maxReasons = 10

// report reports an outage when it begins, and each new reason, but not each attempt.
func (o outage) report(r reporter, err error) {
	if !errors.Is(err, locks.ErrUnavailable) {
		clear(o)
		return
	}
	if o[err.Error()] || len(o) == maxReasons {
		return
	}
	o[err.Error()] = true
	r.emit(event.Event{Kind: event.Unavailable, Class: ClassOf(err), Reason: err.Error()})
	r.log.Warn("not possible yet, still trying", "err", err)
}

// untilSignal returns a context that ends when a signal arrives that ends us. It drops
// other signals, because there is no job to pass them to. The caller must call the
// returned function, which ends the context. It returns a *SignalError if a signal that
// ends us has arrived.
func (r *run) untilSignal(ctx context.Context) (context.Context, func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var signalled error
	var done sync.WaitGroup
	done.Go(func() {
		beat := heartbeat.New(r.observer.Heartbeat, r.Clock, heartbeat.Waiting)
		defer beat.Stop()
		for {
			select {
			case sig := <-r.Signals:
				if signals.Ending(sig) {
					signalled = &SignalError{sig}
					cancel()
					return
				}
			case <-beat.C:
				beat.Beat()
			case <-ctx.Done():
				return
			}
		}
	})
	return ctx, func() error {
		cancel()
		done.Wait()
		return signalled
	}
}
