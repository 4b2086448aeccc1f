package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks/backoff"
	"github.com/leaderrun/leaderrun/locks/record"
)

// A listener hears what the holder is asked.
type listener struct {
	*entry
	token    uint64
	revision int64  // the next that may have a request which we do not know
	last     string // the nonce of the last request that was delivered
}

// hear delivers requests from the creation of our entry on, until the term is
// over. It begins late for the sake of short jobs. The watch has a stream of its
// own, and so a fresh login each time it begins anew.
//
// Who may not read the key hears nothing, and holds the lock as ever.
func (e *entry) hear(created int64) {
	l := &listener{entry: e, token: uint64(created), revision: created + 1}
	e.spawn(func(ctx context.Context) {
		if backoff.Sleep(ctx, lazily) != nil {
			return
		}
		for pause := new(backoff.Backoff); ; {
			l.watch(ctx, pause)
			if pause.Wait(ctx) != nil {
				return
			}
			err := l.read(ctx)
			if denied(err) {
				e.log.Info("cannot read requests to the holder", "err", plain(err))
				return
			}
			if err != nil {
				e.log.Debug("cannot read requests to the holder", "err", plain(err))
			}
		}
	})
}

// watch delivers requests until the watch ends.
func (l *listener) watch(ctx context.Context, pause *backoff.Backoff) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := l.c.watch(ctx, "asked", string(l.askKey()), clientv3.WithRev(l.revision), clientv3.WithFilterDelete())
	err := l.follow(events, pause, l.take, func() {
		if err := l.read(ctx); err != nil {
			l.log.Debug("cannot read requests to the holder", "err", plain(err))
		}
	})
	l.log.Debug("the watch of requests ended", "err", plain(err))
}

// read delivers the request that there is, after a watch that may have missed it.
func (l *listener) read(ctx context.Context) error {
	ctx, cancel := l.c.attempt(ctx)
	defer cancel()
	resp, err := call(ctx, l.c, l.c.kv.Range, &pb.RangeRequest{Key: l.askKey()})
	if err != nil {
		return err
	}
	for _, kv := range resp.Kvs {
		l.take(kv)
	}
	l.revision = max(l.revision, resp.Header.Revision+1)
	return nil
}

// take delivers a request once, if it is for us.
func (l *listener) take(kv *mvccpb.KeyValue) {
	l.revision = max(l.revision, kv.ModRevision+1)
	r := record.ReadRequest(kv.Value)
	if r == nil || r.Token != l.token || r.Nonce == l.last {
		return
	}
	l.last = r.Nonce
	select { // only the latest matters, and only we send
	case <-l.asked:
	default:
	}
	l.asked <- []byte(r.Text)
}
