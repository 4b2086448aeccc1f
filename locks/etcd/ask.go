package etcd

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/record"
)

// A request to the holder belongs to a lease of its own, which nobody renews, so
// that it does not stay when nobody reads it. It is not the holder's lease: a
// server lets nobody end a lease who may not write all that belongs to it, and so
// a request could keep a holder from releasing.

// unread is how much longer than the holder's lease a request is kept: the
// holder may have to connect anew first.
const unread = time.Minute

// errNobody says that the holder with that token is gone.
var errNobody = errors.New("nobody holds the lock with that token")

// Ask implements [locks.Asker].
func (l *Lock) Ask(ctx context.Context, token uint64, text []byte) error {
	if err := locks.CheckText(text); err != nil {
		return l.usage("ask the holder", err)
	}
	request := record.NewRequest(token, text)
	_, err := persist(ctx, l, func(ctx context.Context, _ bool) (struct{}, error) { return struct{}{}, l.ask(ctx, token, request) })
	if err != nil && !errors.Is(err, errNobody) {
		return l.fail(ctx, "ask the holder", err)
	}
	return nil
}

// ask leaves a request if the entry with that token leads when it is written.
func (l *Lock) ask(ctx context.Context, token uint64, request []byte) error {
	resp, err := call(ctx, l.c, l.c.kv.Range, l.rangeFirst(1))
	if err != nil {
		return err
	}
	if len(resp.Kvs) == 0 || uint64(resp.Kvs[0].CreateRevision) != token {
		return errNobody
	}
	head := resp.Kvs[0]
	lease, err := l.lendFor(ctx, head.Lease)
	if err != nil {
		return err
	}
	done, err := call(ctx, l.c, l.c.kv.Txn, &pb.TxnRequest{
		Compare: []*pb.Compare{isCreated(head.Key, head.CreateRevision)},
		Success: []*pb.RequestOp{opPut(&pb.PutRequest{Key: l.askKey(), Value: request, Lease: lease})},
	})
	if err == nil && !done.Succeeded {
		_, _ = call(ctx, l.c, l.c.lease.LeaseRevoke, &pb.LeaseRevokeRequest{ID: lease}) // it would end by itself
		return errNobody
	}
	return err
}

// lendFor gets a lease that is longer than the given one.
func (l *Lock) lendFor(ctx context.Context, holders int64) (id int64, err error) {
	if holders == 0 { // no leaderrun's entry is without one
		return 0, errNobody
	}
	held, err := call(ctx, l.c, l.c.lease.LeaseTimeToLive, &pb.LeaseTimeToLiveRequest{ID: holders})
	if err != nil {
		return 0, err
	}
	if held.TTL < 0 {
		return 0, errNobody
	}
	id = rand.Int64N(1<<63-1) + 1
	_, err = call(ctx, l.c, l.c.lease.LeaseGrant, &pb.LeaseGrantRequest{ID: id, TTL: held.GrantedTTL + int64(unread/time.Second)})
	return id, err
}

// Asked implements [locks.Asker].
func (l *Lock) Asked() <-chan []byte { return l.asked }

// denied reports that another attempt would meet the same answer.
func denied(err error) bool { return errors.Is(err, rpctypes.ErrPermissionDenied) }

var _ locks.Asker = (*Lock)(nil)
