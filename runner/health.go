package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A Health says how to find out whether the job does its work: a leader that
// hangs would lead for ever, as we go on renewing. The terms are Docker's.
type Health struct {
	Command     proc.Command  // exits with 0 if all is well; runs beside the job, as a part of it
	Interval    time.Duration // from the start, or the end of a check, to the next
	Timeout     time.Duration // of a check; one that takes longer is killed, and has failed
	Retries     int           // so many failures in a row make the job unhealthy
	StartPeriod time.Duration // failures before the first success do not count so long
}

// A checkup watches the health of one job. A nil one does nothing.
type checkup struct {
	*run
	job    proc.Job
	failed chan error // gets one error, when the job is unhealthy
	quit   context.CancelFunc
	ended  chan struct{}
}

// watchHealth begins to look after a job that was just started.
func (r *run) watchHealth(job proc.Job) *checkup {
	if r.Health == nil {
		return nil
	}
	c := &checkup{run: r, job: job, failed: make(chan error, 1), ended: make(chan struct{})}
	ctx, quit := context.WithCancel(context.Background())
	c.quit = quit
	go func() {
		defer close(c.ended)
		c.watch(ctx)
	}()
	return c
}

// unhealthy tells why the job is to be replaced by another leader.
func (c *checkup) unhealthy() <-chan error {
	if c == nil {
		return nil
	}
	return c.failed
}

// cancel ends it, and a check under way. It does not block.
func (c *checkup) cancel() {
	if c != nil {
		c.quit()
	}
}

// stop ends it, and returns when no check is under way.
func (c *checkup) stop() {
	if c != nil {
		c.quit()
		<-c.ended
	}
}

func (c *checkup) watch(ctx context.Context) {
	lenient := c.Clock.Now().Add(c.Health.StartPeriod)
	for failures := 0; failures < c.Health.Retries; {
		if !c.sleep(ctx, c.Health.Interval) {
			return
		}
		begun := c.Clock.Now()
		err := c.check(ctx)
		switch {
		case ctx.Err() != nil, errors.Is(err, proc.ErrUnguarded):
			return
		case err == nil:
			failures, lenient = 0, 0
			continue
		case begun < lenient:
		default:
			failures++
		}
		c.Logger.Info("a health check failed", "err", err, "failures", failures)
		c.emit(Event{Kind: EventUnhealthy, Reason: err.Error()})
		if failures == c.Health.Retries {
			c.failed <- fmt.Errorf("the job is unhealthy: %d checks in a row failed, the last one with: %w", failures, err)
		}
	}
}

// check makes one check.
func (c *checkup) check(ctx context.Context) error {
	command := c.Health.Command
	command.Env, command.NoInput = c.hookEnv(c.env, "health", "", c.Holder), true
	aside, err := c.job.Beside(command)
	if err != nil {
		return err
	}
	timer := clock.NewTimer(c.Clock, c.Clock.Now().Add(c.Health.Timeout))
	defer timer.Stop()
	select {
	case <-aside.Done():
		if exit := aside.Exit(); exit.Status() != 0 {
			return errors.New("it " + ended(exit))
		}
		return nil
	case <-timer.C:
		err = fmt.Errorf("no result after %v", c.Health.Timeout)
	case <-ctx.Done():
		err = ctx.Err()
	}
	aside.Kill()
	<-aside.Done()
	return err
}

// sleep reports whether the time passed.
func (c *checkup) sleep(ctx context.Context, d time.Duration) bool {
	timer := clock.NewTimer(c.Clock, c.Clock.Now().Add(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
