package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
)

// watchPatience is how long a watch may take to report a change.
const watchPatience = 10 * time.Second

// watch has one contender release the lock, and measures how long the watch of another one
// takes to report it.
func (e *exam) watch(ctx context.Context) []Check {
	took, err := e.watchRelease(ctx)
	switch {
	case errors.Is(err, locks.ErrUsage): // such as a server before ZooKeeper 3.6, or behind PgBouncer
		return []Check{skipped("watch", output.OneLine(err.Error()))}
	case err != nil:
		return []Check{failed("watch", err)}
	}
	return []Check{ok("watch", figures{"took_ns": took}, "reported a release after %s", show(took))}
}

func (e *exam) watchRelease(ctx context.Context) (time.Duration, error) {
	holder, err := e.open(ctx, e.patient())
	if err != nil {
		return 0, err
	}
	defer func() { holder.end(ctx) }()
	if _, err := holder.take(ctx); err != nil {
		return 0, err
	}
	watcher, err := e.open(ctx, e.patient())
	if err != nil {
		return 0, err
	}
	defer watcher.close()
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, err := watcher.Lock.(locks.Watcher).Watch(watching, false)
	if err != nil {
		return 0, err
	}
	if err := quiet(ctx, changes); err != nil {
		return 0, err
	}
	e.pace(ctx)
	start := e.Clock.Now()
	if err := holder.freeNow(ctx); err != nil {
		return 0, err
	}
	err = reported(ctx, changes)
	return e.Clock.Now().Sub(start), err
}

// quietTime is how long reports of earlier changes may still arrive.
const quietTime = 100 * time.Millisecond

// quiet reads reports of changes until there are none for a while, so that a later
// report is about a later change.
func quiet(ctx context.Context, changes <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, watchPatience)
	defer cancel()
	for {
		select {
		case _, more := <-changes:
			if !more {
				return errEnded
			}
		case <-time.After(quietTime):
			return nil
		case <-ctx.Done():
			return errors.New("it keeps reporting changes that did not happen")
		}
	}
}

var errEnded = errors.New("the watch ended before it reported a release")

// reported waits until the watch reports a change.
func reported(ctx context.Context, changes <-chan struct{}) error {
	select {
	case _, more := <-changes:
		if !more {
			return errEnded
		}
		return nil
	case <-time.After(watchPatience):
		return fmt.Errorf("the watch did not report a release within %v", watchPatience)
	case <-ctx.Done():
		return ctx.Err()
	}
}
