package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// WatchRequests implements [queue.Entry]. It delivers requests that were made after our
// entry. Its watch has a separate stream, and so a new login each time it starts.
func (e *entry) WatchRequests(ctx context.Context, in *queue.Inbox) error {
	if e.heard == 0 {
		e.heard = e.entered.Load() + 1
	} else if err := e.readAsked(ctx, in); denied(err) {
		return err
	} else if err != nil {
		e.lock.log.Debug("cannot read requests to the holder", "err", plain(err))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := e.lock.c.watch(ctx, "asked", string(e.lock.askKey()), clientv3.WithRev(e.heard), clientv3.WithFilterDelete())
	err := e.lock.follow(events, in.Pause, func(kv *mvccpb.KeyValue) { e.take(in, kv) }, func() {
		if err := e.readAsked(ctx, in); err != nil {
			e.lock.log.Debug("cannot read requests to the holder", "err", plain(err))
		}
	})
	e.lock.log.Debug("the watch of requests ended", "err", plain(err))
	return nil
}

// readAsked delivers the current request, which a watch may have missed.
func (e *entry) readAsked(ctx context.Context, in *queue.Inbox) error {
	ctx, cancel := e.lock.c.attempt(ctx)
	defer cancel()
	resp, err := call(ctx, e.lock.c, e.lock.c.kv.Range, &pb.RangeRequest{Key: e.lock.askKey()})
	if err != nil {
		return err
	}
	for _, kv := range resp.Kvs {
		e.take(in, kv)
	}
	e.heard = max(e.heard, resp.Header.Revision+1)
	return nil
}

func (e *entry) take(in *queue.Inbox, kv *mvccpb.KeyValue) {
	e.heard = max(e.heard, kv.ModRevision+1)
	in.Deliver(queue.ReadRequest(kv.Value))
}
