package etcd

import (
	"context"

	"github.com/leaderrun/leaderrun/locks/backoff"
)

// persist repeats what can be repeated, within the connect timeout, until there
// is an answer.
//
// A request whose answer was lost, or that a member could not serve, is simply
// sent again, to the next member. So what is sent must do no harm twice: the ids
// of leases are ours to choose, and what is written has conditions. An address
// where nobody is reachable is reported at once.
func persist[T any](ctx context.Context, l *lock, attempt func(ctx context.Context, again bool) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	var lastErr error
	for pause, again := new(backoff.Backoff), false; ; again = true {
		v, err := once(ctx, l.c, again, attempt)
		if err == nil {
			return v, nil
		}
		if lastErr == nil || !isContext(err) {
			lastErr = err // better than that the time is up
		}
		if !transient(err) || l.c.unreachable() || pause.Wait(ctx) != nil {
			return v, lastErr
		}
	}
}

// once does not wait for ever for one member.
func once[T any](ctx context.Context, c *client, again bool, attempt func(context.Context, bool) (T, error)) (T, error) {
	ctx, cancel := c.attempt(ctx)
	defer cancel()
	return attempt(ctx, again)
}
