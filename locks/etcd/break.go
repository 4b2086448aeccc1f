package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leaderrun/leaderrun/locks"
)

// errOtherTerm says that there is nothing to break.
const errOtherTerm = locks.LostError("nobody holds the lock with that token any more")

// Break implements [locks.Breaker]. Deleting the holder's entry ends its term:
// the next in line leads, and the holder's watch tells it. Then the lease is ended,
// too, so that a holder whose watch has gone silent hears of it by its next renewal.
func (l *Lock) Break(ctx context.Context, token uint64) error {
	lease, err := persist(ctx, l, func(ctx context.Context, _ bool) (int64, error) { return l.breakTerm(ctx, token) })
	if err != nil {
		return l.fail(ctx, "break the lock", err)
	}
	if err := l.endUnused(ctx, lease); err != nil {
		l.log.Debug("cannot end the lease of a lock that was broken; it will run out", "err", plain(err))
	}
	return nil
}

// breakTerm deletes the entry that a token created, if it leads, and returns its
// lease. An entry that leads does so until it is deleted: no later one has an
// earlier revision. So what the server compares is only that it is still there.
func (l *Lock) breakTerm(ctx context.Context, token uint64) (lease int64, err error) {
	resp, err := call(ctx, l.c, l.c.kv.Range, l.rangeFirst(1))
	if err != nil {
		return 0, err
	}
	if len(resp.Kvs) == 0 || uint64(resp.Kvs[0].CreateRevision) != token {
		return 0, errOtherTerm
	}
	head := resp.Kvs[0]
	done, err := call(ctx, l.c, l.c.kv.Txn, &pb.TxnRequest{
		Compare: []*pb.Compare{isCreated(head.Key, head.CreateRevision)},
		Success: []*pb.RequestOp{opDelete(head.Key)},
	})
	if err == nil && !done.Succeeded {
		err = errOtherTerm
	}
	return head.Lease, err
}

// endUnused ends a lease to which no key belongs. Whoever may write the queue
// could have put an entry there with the lease of others, whose keys would go
// with it.
func (l *Lock) endUnused(ctx context.Context, lease int64) error {
	if lease == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, undoTimeout)
	defer cancel()
	resp, err := call(ctx, l.c, l.c.lease.LeaseTimeToLive, &pb.LeaseTimeToLiveRequest{ID: lease, Keys: true})
	if err != nil || resp.TTL < 0 || len(resp.Keys) > 0 {
		return err
	}
	_, err = call(ctx, l.c, l.c.lease.LeaseRevoke, &pb.LeaseRevokeRequest{ID: lease})
	return err
}

var _ locks.Breaker = (*Lock)(nil)
