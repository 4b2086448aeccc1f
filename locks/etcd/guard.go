package etcd

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks/backoff"
)

// lazily is how long what a short job does not need is put off. Nothing is
// missed meanwhile: a watch begins at a revision, not at a moment.
const lazily = 100 * time.Millisecond

// guard watches our own entry from its creation on, beginning after a delay,
// until the term is over: an operator may delete it, and the lease may be
// revoked or end.
func (e *entry) guard(created int64, delay time.Duration) {
	e.spawn(func(ctx context.Context) {
		if backoff.Sleep(ctx, delay) != nil {
			return
		}
		revision := created + 1
		for pause := new(backoff.Backoff); ctx.Err() == nil; {
			revision = e.watchOwn(ctx, created, revision, pause)
			if pause.Wait(ctx) != nil {
				return
			}
			v, err := e.lookOnce(ctx, created)
			if err != nil {
				e.log.Debug("cannot read the lock's entry", "err", plain(err))
				continue
			}
			if v.own == nil {
				e.lose(errDeleted)
				return
			}
			revision = v.revision + 1
		}
	})
}

// watchOwn watches our entry until the watch ends, and returns how far it got.
func (e *entry) watchOwn(ctx context.Context, created, revision int64, pause *backoff.Backoff) int64 {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for resp := range e.c.watch(ctx, "own", e.key, clientv3.WithRev(revision)) {
		if err := resp.Err(); err != nil && ctx.Err() == nil {
			e.log.Debug("the watch of the lock's entry ended", "err", plain(err))
			break
		}
		pause.Reset()
		for _, ev := range resp.Events {
			switch {
			case ev.Type == clientv3.EventTypeDelete:
				e.lose(errDeleted)
			case ev.Kv.CreateRevision != created || ev.Kv.Lease != e.id:
				e.lose(errReplaced)
			}
			revision = ev.Kv.ModRevision + 1
		}
	}
	return revision
}

// restampLazily renews our record once we lead after a wait, so that it tells
// since when. It is not worth a retry.
func (e *entry) restampLazily(created int64) {
	e.spawn(func(ctx context.Context) {
		if backoff.Sleep(ctx, lazily) != nil {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, e.o.ConnectTimeout)
		defer cancel()
		if err := e.restamp(ctx, created); err != nil {
			e.log.Debug("cannot renew the lock's record", "err", plain(err))
		}
	})
}
