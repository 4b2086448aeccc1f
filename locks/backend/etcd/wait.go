package etcd

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

var errWatchEnded = errors.New("the watch ended")

// A brokenWatch says why a watch ended. It may be a lost connection that cannot be
// resumed, a compacted revision, a member without a leader: whatever it is, it passes.
type brokenWatch struct{ error }

// Await implements [queue.Entry]. It watches only the entry just before ours, so that a
// release wakes one waiter and not all.
func (e *entry) Await(ctx context.Context) error {
	before := string(e.view.before.Key)
	e.ahead.Store(&before)
	defer e.ahead.Store(nil)
	if err := e.watchGone(ctx, before, e.view.revision+1); err != nil {
		return brokenWatch{err}
	}
	return nil
}

// Look implements [queue.Entry].
func (e *entry) Look(ctx context.Context) (queue.View, error) {
	v, err := e.lookOnce(ctx)
	if err != nil {
		return queue.View{}, err
	}
	return e.seen(v), nil
}

// lookOnce looks at the queue, but does not wait for ever for one member.
func (e *entry) lookOnce(ctx context.Context) (*view, error) {
	ctx, cancel := e.c.attempt(ctx)
	defer cancel()
	v, err := e.look(ctx, e.entered.Load())
	if err == nil && v.own == nil {
		err = errDeleted
	}
	return v, err
}

// watchGone returns nil when a key that existed before a revision is deleted, as the watch
// or a renewal tells, or the context has ended, and else why it cannot watch.
func (e *entry) watchGone(ctx context.Context, key string, revision int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := e.c.watch(ctx, "before", key, clientv3.WithRev(revision), clientv3.WithFilterPut())
	for {
		select {
		case resp, ok := <-events:
			switch err := resp.Err(); {
			case ctx.Err() != nil, len(resp.Events) > 0:
				return nil
			case err != nil:
				return err
			case !ok:
				return errWatchEnded
			}
		case <-e.moved:
			return nil
		}
	}
}

// WatchEntry implements [queue.Entry]. It watches our entry from its creation on: nothing is
// missed by beginning late, as a watch begins at a revision, not at a moment. The lease may
// be revoked or end, too.
func (e *entry) WatchEntry(ctx context.Context, pause *backoff.Backoff) error {
	if e.watched == 0 {
		e.watched = e.entered.Load() + 1
	} else if v, err := e.lookOnce(ctx); err == nil {
		e.watched = v.revision + 1
	} else if errors.Is(err, errDeleted) {
		return err
	} else {
		e.log.Debug("cannot read the lock's entry", "err", plain(err))
	}
	return e.watchOwn(ctx, pause)
}

// watchOwn watches our entry until it is lost or the watch ends.
func (e *entry) watchOwn(ctx context.Context, pause *backoff.Backoff) error {
	created := e.entered.Load()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for resp := range e.c.watch(ctx, "own", e.key, clientv3.WithRev(e.watched)) {
		if err := resp.Err(); err != nil {
			return err
		}
		pause.Reset()
		for _, ev := range resp.Events {
			switch {
			case ev.Type == clientv3.EventTypeDelete:
				return errDeleted
			case ev.Kv.CreateRevision != created || ev.Kv.Lease != e.id:
				return errReplaced
			}
			e.watched = ev.Kv.ModRevision + 1
		}
	}
	return ctx.Err()
}

// Update implements [queue.Entry].
func (e *entry) Update(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.o.ConnectTimeout)
	defer cancel()
	return e.restamp(ctx, e.entered.Load())
}
