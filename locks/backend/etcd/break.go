package etcd

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leaderrun/leaderrun/locks"
)

// endTimeout bounds the attempt to end the lease of what was broken. If it fails, the
// lease runs out.
const endTimeout = time.Second

// errOtherTerm says that there is nothing to break.
const errOtherTerm = locks.LostError("nobody holds the lock with that token any more")

// Break implements [queue.Store]. Then the lease is ended, too, so that a holder whose
// watch has gone silent hears of it by its next renewal.
func (l *lock) Break(ctx context.Context, token uint64) error {
	var lease int64
	err := l.persist(ctx, func(ctx context.Context) (err error) { lease, err = l.breakTerm(ctx, token); return err })
	if err != nil {
		return err
	}
	if err := l.endUnused(ctx, lease); err != nil {
		l.log.Debug("cannot end the lease of a lock that was broken; it will run out", "err", plain(err))
	}
	return nil
}

// breakTerm deletes the entry that a token created, if it leads, and returns its
// lease. An entry that leads does so until it is deleted: no later one has an
// earlier revision. So what the server compares is only that it is still there.
func (l *lock) breakTerm(ctx context.Context, token uint64) (lease int64, err error) {
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
func (l *lock) endUnused(ctx context.Context, lease int64) error {
	if lease == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	resp, err := call(ctx, l.c, l.c.lease.LeaseTimeToLive, &pb.LeaseTimeToLiveRequest{ID: lease, Keys: true})
	if err != nil || resp.TTL < 0 || len(resp.Keys) > 0 {
		return err
	}
	_, err = call(ctx, l.c, l.c.lease.LeaseRevoke, &pb.LeaseRevokeRequest{ID: lease})
	return err
}
