package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Record implements [queue.Store].
func (l *lock) Record(ctx context.Context) ([]byte, error) {
	resp, err := l.get(ctx, &pb.RangeRequest{Key: l.recordKey()})
	if err != nil || len(resp.Kvs) == 0 {
		return nil, err
	}
	return textOf(resp.Kvs[0]), nil
}

// textOf returns the text of a record, or nil if there is none.
func textOf(kv *mvccpb.KeyValue) []byte {
	if kv == nil {
		return nil
	}
	return append([]byte{}, kv.Value...)
}

// Write implements [queue.Entry].
func (e *entry) Write(ctx context.Context, text []byte) error {
	return e.lock.retry(ctx, func(ctx context.Context) error { return e.write(ctx, text) })
}

// write replaces the record, on the conditions that our entry exists, and so leads, and
// that the record is as we last knew it. The second keeps a request of ours that arrives
// late, after a newer one, from bringing back an older text.
func (e *entry) write(ctx context.Context, text []byte) error {
	created, key := e.entered.Load(), e.lock.recordKey()
	for {
		resp, err := call(ctx, e.lock.c, e.lock.c.kv.Txn, &pb.TxnRequest{
			Compare: []*pb.Compare{
				isCreated([]byte(e.key), created), is(clientv3.LeaseValue(e.key), e.id),
				is(clientv3.ModRevision(string(key)), e.written.Load()), // 0: the key does not exist
			},
			Success: []*pb.RequestOp{opPut(&pb.PutRequest{Key: key, Value: text})},
			Failure: []*pb.RequestOp{opRange(e.rangeOwn()), opRange(&pb.RangeRequest{Key: key})},
		})
		switch {
		case err != nil:
			return err
		case resp.Succeeded:
			e.written.Store(resp.Header.Revision)
			return nil
		}
		if kv := first(resp, 0); kv.GetCreateRevision() != created {
			return errDeleted
		} else if kv.Lease != e.id {
			return errReplaced
		}
		e.written.Store(first(resp, 1).GetModRevision())
	}
}
