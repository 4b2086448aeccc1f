// Package health checks whether a job does its work. Without that, a job that hangs would lead
// for ever, because leaderrun goes on renewing. The words are Docker's. This is a package of
// its own because it needs only a job, and no lease or term.
package health

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A Config says how to check a job.
type Config struct {
	Command     proc.Command  // exits with 0 if all is well; it is a part of the job, and its Env is added to the job's
	Interval    time.Duration // from the start, or the end of a check, to the next check; a check that takes longer is killed, and has failed
	Retries     int           // this many failures in a row make the job unhealthy
	StartPeriod time.Duration // during it, failures before the first success do not count
}

// A Watch checks one job again and again. The zero Watch checks nothing.
type Watch struct {
	Unhealthy <-chan error // receives one error when the job is unhealthy

	c      Config
	clock  clock.Clock
	job    proc.Job
	failed func(err error, inARow int)
	quit   context.CancelFunc
	ended  chan struct{}
}

// Start begins to check a job that was just started. A separate goroutine calls failed after
// each check that fails.
func Start(c Config, clock clock.Clock, job proc.Job, failed func(err error, inARow int)) *Watch {
	ctx, quit := context.WithCancel(context.Background())
	unhealthy := make(chan error, 1)
	w := &Watch{Unhealthy: unhealthy, c: c, clock: clock, job: job, failed: failed, quit: quit, ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		if err := w.watch(ctx); err != nil {
			unhealthy <- err
		}
	}()
	return w
}

// Cancel ends the watch, and a check under way. It does not block.
func (w *Watch) Cancel() {
	if w.quit != nil {
		w.quit()
	}
}

// Stop ends the watch, and returns when no check is under way.
func (w *Watch) Stop() {
	if w.quit != nil {
		w.quit()
		<-w.ended
	}
}

// watch returns why the job is unhealthy, or nil when the watch must end.
func (w *Watch) watch(ctx context.Context) error {
	lenient := w.clock.Now().Add(w.c.StartPeriod)
	for failures := 0; ; {
		if !w.sleep(ctx, w.c.Interval) {
			return nil
		}
		begun := w.clock.Now()
		err := w.check(ctx)
		switch {
		case ctx.Err() != nil, errors.Is(err, proc.ErrUnguarded):
			return nil
		case err == nil:
			failures, lenient = 0, 0
			continue
		case begun >= lenient:
			failures++
		}
		w.failed(err, failures)
		if failures >= w.c.Retries {
			return fmt.Errorf("the job is unhealthy: %d checks in a row failed, the last one with: %w", failures, err)
		}
	}
}

// check makes one check.
func (w *Watch) check(ctx context.Context) error {
	check, err := w.job.CheckHealth(w.c.Command)
	if err != nil {
		return err
	}
	end := w.clock.Now().Add(w.c.Interval)
	over := w.await(ctx, check, end)
	if late := w.clock.Now(); !over && late >= end.Add(moment) { // we were frozen, and the result may be on its way
		over = w.await(ctx, check, late.Add(moment))
	}
	if over {
		if exit := check.Exit(); exit.Status() != 0 {
			return fmt.Errorf("it %v", exit)
		}
		return nil
	}
	check.Kill()
	// If SIGKILL does nothing, the next check is refused.
	w.await(ctx, check, w.clock.Now().Add(w.c.Interval))
	if ctx.Err() != nil { // the check ends with the job
		<-check.Done()
		return ctx.Err()
	}
	return fmt.Errorf("no result after %v", w.c.Interval)
}

// moment is how long it may take to learn of the end of a check, on a busy machine.
const moment = 100 * time.Millisecond

// await waits for a check until a moment, and reports whether it has ended.
func (w *Watch) await(ctx context.Context, check proc.HealthCheck, until clock.Instant) (over bool) {
	timer := clock.NewTimer(w.clock, until)
	defer timer.Stop()
	select {
	case <-check.Done():
	case <-timer.C:
	case <-ctx.Done():
	}
	select {
	case <-check.Done():
		return true
	default:
		return false
	}
}

// sleep waits, and reports whether the time has passed.
func (w *Watch) sleep(ctx context.Context, d time.Duration) bool {
	timer := clock.NewPause(w.clock, w.clock.Now().Add(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
