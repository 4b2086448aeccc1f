package caslease

import (
	"context"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// release marks the lock as free, if it is still ours. If an answer was lost, it reads the
// cell and tries again, for as long as ctx allows.
func (l *Lock) release(ctx context.Context, t *term) error {
	never := func(error, time.Duration) error { return nil }
	return l.repeat(ctx, l.traits.Pace/2, never, func() error {
		for { // a cell that has changed is read at once
			if err := l.releaseOnce(ctx, t); !l.stale(err) {
				return err
			}
		}
	})
}

func (l *Lock) releaseOnce(ctx context.Context, t *term) error {
	ctx, cancel := backoff.Try(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, l.Options.ConnectTimeout/2)
	defer cancel()
	at, err := l.current(ctx, t)
	if isLost(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if at.state.Is == free { // by an earlier Release
		return nil
	}
	v, err := l.rewrite(ctx, at, Value{State: t.state.freed().encode()})
	if isLost(err) {
		return nil
	}
	if err == nil || l.stale(err) {
		t.note(at, v, 0)
	}
	return err
}
