package runner

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
)

// The pause before the backend is asked again grows from the first to the last
// of these, and a random half of it is left out, so that a fleet does not ask
// in step.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 5 * time.Second
)

// A campaign waits for the lock. Its fields do not change once it does, but for outage,
// which belongs to the goroutine that waits.
type campaign struct {
	c       *Config
	report  reporter
	limit   *limit
	standby *standby
	outage  outage
}

// campaign waits for the lock as long as it may. It returns the term, or why the lock
// was not had.
func (c *Config) campaign(ctx context.Context) (*term, error) {
	standby := &standby{quit: make(chan struct{}), done: make(chan struct{})}
	report := reporter{c.Events, c.Logger, event.Event{Version: event.Version, Lock: c.Lock, Holder: c.Holder, RunID: c.RunID}}
	k := &campaign{c: c, report: report, standby: standby, outage: outage{}}
	t, err := k.wait(ctx)
	if c.CampaignEnded != nil {
		c.CampaignEnded()
	}
	if err != nil {
		standby.end()
		return nil, err
	}
	return t, nil
}

// wait makes one attempt after another.
func (k *campaign) wait(ctx context.Context) (*term, error) {
	ctx, stop := k.c.untilSignal(ctx)
	ctx, limit := k.c.limited(ctx)
	defer limit.cancel()
	k.limit = limit
	var last error // what the campaign ends with if it ends now
	for pauses := (backoff.Backoff{Shortest: firstPause, Longest: lastPause}); ; {
		a := &attempt{campaign: k, finished: make(chan struct{})}
		t, err := a.run(ctx)
		if err == nil {
			return a.won(t, stop())
		}
		last = a.verdict(ctx, err, last)
		limit.answered()
		if !k.c.Try && !classify(last).final && ctx.Err() == nil {
			k.outage.report(k.report, last)
			pause := pauses.Take()
			if !a.steppedBack { // the one for whom we stepped back is before our new place
				_ = backoff.Sleep(ctx, pause)
			}
			if ctx.Err() == nil {
				continue
			}
		}
		if err := stop(); err != nil {
			return nil, err
		}
		return nil, last
	}
}

// An outage has the reasons that were reported since the backend last answered.
type outage map[string]bool

// maxReasons bounds the reports of one outage: a reason may have a port in it, which
// differs each time.
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

// untilSignal ends a context when a signal arrives that ends us. It drops other
// signals: there is no job to pass them to. The function that it returns must be
// called. It stops all that, and returns a *SignalError if such a signal arrived.
func (c *Config) untilSignal(ctx context.Context) (context.Context, func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var signalled error
	var done sync.WaitGroup
	done.Go(func() {
		beats := heartbeat.New(c.Heartbeat, c.Clock, heartbeat.Waiting)
		defer beats.Stop()
		for {
			select {
			case sig := <-c.Signals:
				if ending(sig) {
					signalled = &SignalError{sig}
					cancel()
					return
				}
			case <-beats.C:
				beats.Beat()
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
