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

// A watcher reports changes in a range of keys.
type watcher struct {
	lock     *lock
	key, end string
	revision int64 // all changes up to it were reported
	state    state // at the last look
	changed  func()
}

// A state shows whether keys have changed between two looks.
type state struct {
	keys   int64 // their number
	newest int64 // the last revision that wrote one of them
}

// Watch implements [queue.Store]. It watches the queue, or all keys under the
// prefix, from a revision that it reads first, on a separate stream. A renewal writes no
// key, so it is no change.
//
// If a watch ends, whatever the reason (a compacted revision, a member without a leader,
// an expired login), something may have changed. Watch reports that when the server
// answers again, and continues from there. If only the connection is lost, the client
// makes another, and the watch continues where it was.
func (l *lock) Watch(ctx context.Context, all bool, begun, changed func()) error {
	w := &watcher{lock: l, key: l.queue, changed: changed}
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
			changed()
		case ctx.Err() != nil:
			return err
		case errors.Is(w.lock.explain(err), locks.ErrDenied):
			w.lock.log.Info("can no longer watch the locks", "err", plain(err))
			return err
		default:
			w.lock.log.Debug("cannot watch; trying again", "err", plain(err))
		}
	}
}

// look reads the current revision and state. It fails if we may not read the keys.
func (w *watcher) look(ctx context.Context) error {
	resp, err := w.lock.get(ctx, &pb.RangeRequest{
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

// changes reports changes until the watch ends.
func (w *watcher) changes(ctx context.Context, pause *backoff.Backoff) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := w.lock.c.watch(ctx, "changes", w.key, clientv3.WithRange(w.end), clientv3.WithRev(w.revision+1))
	err := w.lock.follow(events, pause, w.take, func() {
		before := w.state
		if err := w.look(ctx); err != nil {
			w.lock.log.Debug("cannot look for changes", "err", plain(err))
		} else if w.state != before {
			w.changed()
		}
	})
	w.lock.log.Debug("the watch of changes ended", "err", plain(err))
}

func (w *watcher) take(kv *mvccpb.KeyValue) {
	w.revision = kv.ModRevision
	if name, suffix := w.lock.owner(string(kv.Key)); name != "" && suffix != askSuffix {
		w.changed()
	}
}

// follow calls take for each event of a watch until the watch ends, and look from time to
// time.
func (l *lock) follow(events clientv3.WatchChan, pause *backoff.Backoff, take func(*mvccpb.KeyValue), look func()) error {
	ticker := time.NewTicker(l.lookEvery)
	defer ticker.Stop()
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
		case <-ticker.C:
			look()
		}
	}
}
