package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// watchPatience is how long news of a change may take.
const watchPatience = 10 * time.Second

// watch has one contender release, and another look at when it is told.
func (e *exam) watch(ctx context.Context) []Check {
	took, err := e.watchRelease(ctx)
	if err != nil {
		return []Check{failed("watch", err)}
	}
	return []Check{ok("watch", Figures{"told_ns": took}, "told of a release after %s", show(took))}
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
	return e.told(ctx, watcher, changes, func() time.Duration { return e.Clock.Now().Sub(start) })
}

// News of what was before may still come for so long.
const quietTime = 100 * time.Millisecond

// quiet takes news until there is none for a while: what comes then is of what
// happens then.
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
			return errors.New("it tells of changes all the time, and there are none")
		}
	}
}

var errEnded = errors.New("the watch ended by itself, before it told of a release")

// told waits for the news that the lock is free. News of something else may come
// before it.
func (e *exam) told(ctx context.Context, watcher *handle, changes <-chan struct{}, since func() time.Duration) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, watchPatience)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("nothing was told of a release within %v", watchPatience)
		case _, more := <-changes:
			took := since()
			switch held, err := watcher.held(ctx); {
			case err != nil:
				return 0, err
			case !held:
				return took, nil
			case !more:
				return 0, errEnded
			}
		}
	}
}

// held asks whether the lock is. A backend that cannot tell is believed that what it
// told of was the release.
func (h *handle) held(ctx context.Context) (bool, error) {
	if !h.can(ctx, locks.CanInspect) {
		return false, nil
	}
	ctx, cancel := h.e.request(ctx)
	defer cancel()
	st, err := h.Lock.(locks.Inspector).Inspect(ctx)
	return st.Held, err
}
