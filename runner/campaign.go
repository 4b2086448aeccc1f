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
)

// The pause before another attempt grows from firstPause to lastPause. A random part of
// it, up to half, is left out, so that a fleet does not ask in step.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 5 * time.Second
)

// A campaign waits for the lock. Its fields do not change while it waits, except outage,
// which belongs to the goroutine that waits.
type campaign struct {
	c       *Config
	report  reporter
	limit   *limit
	standby *standby
	outage  outage
	answers *answers.Answers // of all attempts
}

// campaign waits for the lock as long as it may. It returns the term, or why we did not
// get the lock.
func (c *Config) campaign(ctx context.Context) (*term, error) {
	report := reporter{c.Events, c.Logger, event.Event{Version: event.Version, Lock: c.Lock, Holder: c.Holder, RunID: c.RunID}}
	cp := &campaign{c: c, report: report, standby: newStandby(), outage: outage{}}
	cp.answers = answers.New(c.Clock, c.Timing.TTL, c.ConnectTimeout)
	t, err := cp.wait(ctx)
	if c.CampaignEnded != nil {
		c.CampaignEnded()
	}
	if err != nil {
		cp.standby.end()
	}
	return t, err
}

// wait makes one attempt after another.
func (cp *campaign) wait(ctx context.Context) (*term, error) {
	ctx, stop := cp.c.untilSignal(ctx)
	ctx, limit := cp.c.limited(ctx)
	defer limit.cancel()
	cp.limit = limit
	for pauses := (backoff.Backoff{Shortest: firstPause, Longest: lastPause}); ; {
		a := &attempt{campaign: cp, finished: make(chan struct{})}
		t, err := a.run(ctx)
		if err == nil {
			return a.won(t, stop())
		}
		why := a.verdict(err)
		limit.answered()
		cl := classify(why)
		if (!cp.c.Try || cl.out) && !cl.final && ctx.Err() == nil {
			cp.outage.report(cp.report, why)
			pause := pauses.Take()
			if !a.steppedBack { // else the preferred waiter is before our new place
				_ = backoff.Sleep(ctx, pause)
			}
			if ctx.Err() == nil {
				continue
			}
		}
		if err := stop(); err != nil {
			return nil, err
		}
		if cl.final {
			return nil, why
		}
		return nil, cp.answers.Verdict(fmt.Errorf("%w: %s gave no answer in time", locks.ErrUnavailable, cp.c.Backend))
	}
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
	r.log.Warn("no answer, still trying", "err", err)
}

// untilSignal returns a context that ends when a signal arrives that ends us. It drops
// other signals, because there is no job to pass them to. The caller must call the
// returned function, which ends the context. It returns a *SignalError if a signal that
// ends us has arrived.
func (c *Config) untilSignal(ctx context.Context) (context.Context, func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var signalled error
	var done sync.WaitGroup
	done.Go(func() {
		beat := heartbeat.New(c.Heartbeat, c.Clock, heartbeat.Waiting)
		defer beat.Stop()
		for {
			select {
			case sig := <-c.Signals:
				if ending(sig) {
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
