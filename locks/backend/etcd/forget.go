package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leaderrun/leaderrun/locks"
)

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
