package etcd

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
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
