package etcd

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// A request to the holder belongs to a lease of its own, which nobody renews, so
// that it does not stay when nobody reads it. It is not the holder's lease: a
// server lets nobody end a lease who may not write all that belongs to it, and so
// a request could keep a holder from releasing.

// unread is how much longer than the holder's lease a request is kept: the
// holder may have to connect anew first.
const unread = time.Minute

// Ask implements [queue.Store].
func (l *lock) Ask(ctx context.Context, token uint64, request []byte) error {
	return l.persist(ctx, func(ctx context.Context) error { return l.ask(ctx, token, request) })
}

// ask leaves a request if the entry with that token leads when it is written.
func (l *lock) ask(ctx context.Context, token uint64, request []byte) error {
	resp, err := call(ctx, l.c, l.c.kv.Range, l.rangeFirst(1))
	if err != nil {
		return err
	}
	if len(resp.Kvs) == 0 || uint64(resp.Kvs[0].CreateRevision) != token {
		return nil
	}
	head := resp.Kvs[0]
	lease, err := l.lendFor(ctx, head.Lease)
	if err != nil || lease == 0 {
		return err
	}
	done, err := call(ctx, l.c, l.c.kv.Txn, &pb.TxnRequest{
		Compare: []*pb.Compare{isCreated(head.Key, head.CreateRevision)},
		Success: []*pb.RequestOp{opPut(&pb.PutRequest{Key: l.askKey(), Value: request, Lease: lease})},
	})
	if err == nil && !done.Succeeded {
		_, _ = call(ctx, l.c, l.c.lease.LeaseRevoke, &pb.LeaseRevokeRequest{ID: lease}) // it would end by itself
	}
	return err
}

// lendFor gets a lease that is longer than the given one; 0: that has ended.
func (l *lock) lendFor(ctx context.Context, holders int64) (id int64, err error) {
	if holders == 0 { // no leaderrun's entry is without one
		return 0, nil
	}
	held, err := call(ctx, l.c, l.c.lease.LeaseTimeToLive, &pb.LeaseTimeToLiveRequest{ID: holders})
	if err != nil || held.TTL < 0 {
		return 0, err
	}
	id = rand.Int64N(1<<63-1) + 1
	_, err = call(ctx, l.c, l.c.lease.LeaseGrant, &pb.LeaseGrantRequest{ID: id, TTL: held.GrantedTTL + int64(unread/time.Second)})
	return id, err
}

// denied reports that another attempt would meet the same answer.
func denied(err error) bool { return errors.Is(err, rpctypes.ErrPermissionDenied) }
