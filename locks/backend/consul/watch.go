package consul

import (
	"context"
	"errors"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// Watch implements [queue.Store].
func (l *lock) Watch(ctx context.Context, all bool, begun, changed func()) error {
	var version, index uint64
	err := l.retry(ctx, func(ctx context.Context) (err error) {
		version, index, err = l.version(ctx, all, 0)
		return err
	})
	if err != nil {
		return err
	}
	begun()
	for pause := new(backoff.Backoff); ; {
		now, next, err := l.version(ctx, all, index)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			pause.Reset()
			if index = next; now != version {
				version = now
				changed()
			}
		case !transient(err):
			return err
		default:
			l.log.DebugContext(ctx, "cannot watch; trying again", "err", err)
			if pause.Wait(ctx) != nil {
				return ctx.Err()
			}
		}
	}
}

// version returns a number that changes with the key of the lock, or with any key under the
// prefix, and the index of the answer. If since is not 0, it waits for a change.
func (l *lock) version(ctx context.Context, all bool, since uint64) (version, index uint64, err error) {
	if all {
		index, err = l.client.get(ctx, "/v1/kv/"+l.client.settings.folder(), since, l.wait(), nil)
		return index, index, err
	}
	p, index, err := l.client.block(ctx, l.key, since, l.wait())
	return p.index(), index, err
}

// WatchRequests implements [queue.Entry].
func (e *entry) WatchRequests(ctx context.Context, in *queue.Inbox) error {
	for index := uint64(0); ; {
		p, next, err := e.lock.client.block(ctx, e.lock.askKey(), index, e.lock.wait())
		if err == nil && p != nil && !in.Deliver(p.Value) { // otherwise it is for a later holder
			_, err = e.lock.client.transact(ctx, op{Verb: "delete-cas", Key: e.lock.askKey(), Index: p.ModifyIndex})
			if first(err) {
				err = nil // there is another request
			}
		}
		if err != nil {
			if ctx.Err() == nil && errors.Is(e.lock.explain(err), locks.ErrDenied) {
				return err
			}
			return nil
		}
		index = next
		in.Pause.Reset()
	}
}
