package etcd

import (
	"context"
	"errors"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// A watcher tells of changes in a range of keys.
type watcher struct {
	*lock
	key, end string
	revision int64 // up to which all changes were told
	state    state // at the last look
	tell     func()
}

// A state is what tells that keys have changed.
type state struct {
	keys   int64
	newest int64 // the revision that wrote the last of them
}

// Watch implements [queue.Watcher]. It watches the queue, or all keys under the
// prefix, from a revision that was read before it begins, on a stream of its own.
// A renewal writes no key.
//
// As in the wait for a lock, a watch that ends for whatever reason (a compacted
// revision, a member without a leader, a login that has expired) means that
// something may have changed: that is told once the server answers again, and the
// next watch begins from there. A connection that is merely lost the client makes
// anew, and the watch goes on where it was.
func (l *lock) Watch(ctx context.Context, all bool, begun, tell func()) error {
	w := &watcher{lock: l, key: l.queue, tell: tell}
	if all {
		w.key = l.prefix
	}
	w.end = endOf(w.key)
	if err := w.look(ctx); err != nil {
		return err
	}
	begun()
	for pause := new(backoff.Backoff); ; {
		w.changes(ctx, pause)
		if err := pause.Wait(ctx); err != nil {
			return err
		}
		err := w.look(ctx)
		switch {
		case err == nil:
			tell()
		case ctx.Err() != nil:
			return err
		case errors.Is(w.explain(err), locks.ErrDenied):
			w.log.Info("cannot watch any more", "err", plain(err))
			return err
		default:
			w.log.Debug("cannot watch; trying again", "err", plain(err))
		}
	}
}

// look finds out from which revision on to watch, and whether we may.
func (w *watcher) look(ctx context.Context) error {
	resp, err := w.get(ctx, &pb.RangeRequest{
		Key: []byte(w.key), RangeEnd: []byte(w.end), Limit: 1, KeysOnly: true,
		SortTarget: pb.RangeRequest_MOD, SortOrder: pb.RangeRequest_DESCEND,
	})
	if err == nil {
		w.revision, w.state = resp.Header.Revision, state{keys: resp.Count}
		for _, kv := range resp.Kvs {
			w.state.newest = kv.ModRevision
		}
	}
	return err
}

// changes tells of changes until the watch ends.
func (w *watcher) changes(ctx context.Context, pause *backoff.Backoff) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := w.c.watch(ctx, "changes", w.key, clientv3.WithRange(w.end), clientv3.WithRev(w.revision+1))
	err := w.follow(events, pause, w.take, func() {
		before := w.state
		if err := w.look(ctx); err != nil {
			w.log.Debug("cannot look for changes", "err", plain(err))
		} else if w.state != before {
			w.tell()
		}
	})
	w.log.Debug("the watch of changes ended", "err", plain(err))
}

func (w *watcher) take(kv *mvccpb.KeyValue) {
	w.revision = kv.ModRevision
	if name, what := w.owner(string(kv.Key)); name != "" && what != theAsk {
		w.tell()
	}
}

// follow hands on what a watch tells until it ends, and calls look from time to time.
func (l *lock) follow(events clientv3.WatchChan, pause *backoff.Backoff, take func(*mvccpb.KeyValue), look func()) error {
	looks := time.NewTicker(l.looks)
	defer looks.Stop()
	for {
		select {
		case resp, ok := <-events:
			if err := resp.Err(); err != nil || !ok {
				return err
			}
			pause.Reset()
			for _, ev := range resp.Events {
				take(ev.Kv)
			}
		case <-looks.C:
			look()
		}
	}
}
