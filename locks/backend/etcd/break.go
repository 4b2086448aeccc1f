package etcd

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leaderrun/leaderrun/locks"
)

// endTimeout bounds the attempt to end the lease of a broken lock. If it fails, the lease
// ends by itself.
const endTimeout = time.Second

// errOtherTerm says that there is nothing to break.
const errOtherTerm = locks.LostError("nobody holds the lock with that token now")

// Break implements [queue.Store]. It also ends the lease, so that a holder whose watch has
// fallen silent learns of its loss when it renews.
func (l *lock) Break(ctx context.Context, token uint64) error {
	var lease int64
	err := l.retry(ctx, func(ctx context.Context) (err error) { lease, err = l.breakTerm(ctx, token); return err })
	if err != nil {
		return err
	}
	if err := l.endUnused(ctx, lease); err != nil {
		l.log.Debug("cannot end the lease of the broken lock; it will end by itself", "err", plain(err))
	}
	return nil
}

// breakTerm deletes the entry with a token, if it leads, and returns its lease. An entry
// that leads does so until it is deleted, because no later one has an earlier revision.
// So the only condition is that the entry still exists.
func (l *lock) breakTerm(ctx context.Context, token uint64) (lease int64, err error) {
	resp, err := call(ctx, l.c, l.c.kv.Range, l.rangeFirst(1))
	if err != nil {
		return 0, err
	}
	head := firstOf(resp)
	if err := l.foreign(head); err != nil {
		return 0, err
	}
	if head == nil || uint64(head.CreateRevision) != token {
		return 0, errOtherTerm
	}
	done, err := call(ctx, l.c, l.c.kv.Txn, &pb.TxnRequest{
		Compare: []*pb.Compare{isCreated(head.Key, head.CreateRevision)},
		Success: []*pb.RequestOp{opDelete(head.Key)},
	})
	if err == nil && !done.Succeeded {
		err = errOtherTerm
	}
	return head.Lease, err
}

// endUnused ends a lease if no key belongs to it. Anybody who may write to the queue could
// have put an entry there with the lease of others, and ending it would delete their keys.
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
