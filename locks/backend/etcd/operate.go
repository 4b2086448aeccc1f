package etcd

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// leftTimeout bounds the wait for the time left of a lease. Inspect has everything else by
// then.
const leftTimeout = 500 * time.Millisecond

// Inspect implements [queue.Store] with one request, and one more if the lock
// is held. Status.Start is unknown: after a release, the queue looks the same as after the
// end of a lease.
func (l *lock) Inspect(ctx context.Context) (locks.State, error) {
	resp, err := l.get(ctx, l.rangeFirst(1+locks.MaxQueue))
	if tooLong(err) { // somebody has written long labels; each has at most 1.5 MiB
		resp, err = l.get(ctx, l.rangeFirst(1+locks.MaxQueue/4))
	}
	if err != nil || len(resp.Kvs) == 0 {
		return locks.State{}, err
	}
	if err := l.foreign(resp.Kvs[0]); err != nil {
		return locks.State{}, err
	}
	line := lineOf(resp.Kvs[0], int(resp.Count))
	s := locks.State{Status: line.Status()}
	s.Left = l.left(ctx, resp.Kvs[0].Lease)
	for _, kv := range resp.Kvs[1:] {
		s.Queue = append(s.Queue, queue.ReadPlace(kv.Value))
	}
	return s, nil
}

// left returns the time left of a lease, which the server reports in whole seconds. It
// returns 0, unknown, in the last second, if the lease has ended, and if there is no
// answer soon.
func (l *lock) left(ctx context.Context, lease int64) time.Duration {
	if lease == 0 {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, leftTimeout)
	defer cancel()
	resp, err := call(ctx, l.c, l.c.lease.LeaseTimeToLive, &pb.LeaseTimeToLiveRequest{ID: lease})
	if err != nil {
		l.log.Debug("cannot read the time left of the lease", "err", plain(err))
		return 0
	}
	return max(time.Duration(resp.TTL)*time.Second, 0)
}

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

// Forget implements [queue.Store] in one step: the server checks that the queue is empty,
// and deletes the lock's other keys. Tokens still rise, because they need no counter.
func (l *lock) Forget(ctx context.Context) error {
	resp, err := l.transact(ctx, &pb.TxnRequest{
		Compare: []*pb.Compare{notCreated([]byte(l.queue), l.queueEnd())},
		Success: []*pb.RequestOp{opDelete(l.recordKey()), opDelete(l.askKey())},
		Failure: []*pb.RequestOp{opRange(l.rangeFirst(1))},
	})
	if err != nil || resp.Succeeded {
		return err
	}
	head := first(resp, 0)
	if err := l.foreign(head); err != nil {
		return err
	}
	line := lineOf(head, int(resp.Responses[0].GetResponseRange().Count))
	return &locks.HeldError{Status: line.Status()}
}
