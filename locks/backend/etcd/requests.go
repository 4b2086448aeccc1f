package etcd

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// A request to the holder belongs to its own lease, which nobody renews, so that an unread
// request does not stay. It does not belong to the holder's lease: a server lets only
// somebody who may write all keys of a lease end it, so a request could keep a holder from
// releasing.

// requestLife is how much longer than the holder's lease a request is kept: the
// holder may have to connect again first.
const requestLife = time.Minute

// Ask implements [queue.Store].
func (l *lock) Ask(ctx context.Context, token uint64, request []byte) error {
	return l.retry(ctx, func(ctx context.Context) error { return l.ask(ctx, token, request) })
}

// ask writes a request, on the condition that the entry with that token leads.
func (l *lock) ask(ctx context.Context, token uint64, request []byte) error {
	resp, err := call(ctx, l.c, l.c.kv.Range, l.rangeFirst(1))
	if err != nil {
		return err
	}
	head := firstOf(resp)
	if err := l.foreign(head); err != nil {
		return err
	}
	if head == nil || uint64(head.CreateRevision) != token {
		return nil
	}
	lease, err := l.leaseOutliving(ctx, head.Lease)
	if err != nil || lease == 0 {
		return err
	}
	done, err := call(ctx, l.c, l.c.kv.Txn, &pb.TxnRequest{
		Compare: []*pb.Compare{isCreated(head.Key, head.CreateRevision)},
		Success: []*pb.RequestOp{opPut(&pb.PutRequest{Key: l.askKey(), Value: request, Lease: lease})},
	})
	if err == nil && !done.Succeeded {
		_, _ = call(ctx, l.c, l.c.lease.LeaseRevoke, &pb.LeaseRevokeRequest{ID: lease}) // if this fails, the lease ends by itself
	}
	return err
}

// leaseOutliving gets a lease that is longer than the holder's, or returns 0 if the
// holder's lease has ended.
func (l *lock) leaseOutliving(ctx context.Context, holders int64) (id int64, err error) {
	if holders == 0 { // every entry of leaderrun's has a lease
		return 0, nil
	}
	held, err := call(ctx, l.c, l.c.lease.LeaseTimeToLive, &pb.LeaseTimeToLiveRequest{ID: holders})
	if err != nil || held.TTL < 0 {
		return 0, err
	}
	id = rand.Int64N(1<<63-1) + 1
	_, err = call(ctx, l.c, l.c.lease.LeaseGrant, &pb.LeaseGrantRequest{ID: id, TTL: held.GrantedTTL + int64(requestLife/time.Second)})
	return id, err
}

// denied reports whether we lack the permission.
func denied(err error) bool { return errors.Is(err, rpctypes.ErrPermissionDenied) }

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
	if ctx.Err() == nil {
		e.lock.log.Debug("the watch of requests ended", "err", plain(err))
	}
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
	in.Deliver(kv.Value)
}
