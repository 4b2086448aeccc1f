package etcd

import (
	"context"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// A lock is a queue: the keys <prefix>/<escaped name>/<lease id>, ordered by
// the revision that created them. The first one leads. Each belongs
// to its own lease, whose random id is the owner's nonce.

// entryKey returns the key of an entry. Its name is our mark: no key of somebody else is named
// after its lease.
func entryKey(queue string, lease int64) string { return fmt.Sprintf("%s%016x", queue, lease) }

// foreign returns an error if the first entry of a queue is not ours. It would never end.
func (l *lock) foreign(head *mvccpb.KeyValue) error { return foreignIn(l.queue, head) }

func foreignIn(queue string, head *mvccpb.KeyValue) error {
	if head == nil || string(head.Key) == entryKey(queue, head.Lease) {
		return nil
	}
	return locks.Foreign("the key "+locks.Printable(string(head.Key)), nil, "prefix")
}

// lineOf returns the line of a queue with that many entries.
func lineOf(head *mvccpb.KeyValue, entries int) queue.Line {
	if head == nil {
		return queue.Line{}
	}
	return queue.Line{Head: &queue.Head{Token: uint64(head.CreateRevision), Label: head.Value}, Waiters: max(entries-1, 0)}
}

// rangeOwn requests our entry with its value: if only the key is requested, servers since
// 3.7 omit the lease.
func (e *entry) rangeOwn() *pb.RangeRequest { return &pb.RangeRequest{Key: []byte(e.key)} }

func (e *entry) rangeHead() *pb.RangeRequest { return e.lock.rangeFirst(1) }

// rangeFirst requests the oldest entries, and the number of all entries.
func (l *lock) rangeFirst(most int64) *pb.RangeRequest { return rangeFirstOf(l.queue, most) }

func rangeFirstOf(queue string, most int64) *pb.RangeRequest {
	return &pb.RangeRequest{
		Key: []byte(queue), RangeEnd: []byte(endOf(queue)), Limit: most,
		SortTarget: pb.RangeRequest_CREATE, SortOrder: pb.RangeRequest_ASCEND,
	}
}

// rangeLast requests the newest entry created no later than a revision, or the newest of
// all if the revision is 0.
func (e *entry) rangeLast(created int64) *pb.RangeRequest {
	return &pb.RangeRequest{
		Key: []byte(e.lock.queue), RangeEnd: e.lock.queueEnd(), Limit: 1, KeysOnly: true, MaxCreateRevision: created,
		SortTarget: pb.RangeRequest_CREATE, SortOrder: pb.RangeRequest_DESCEND,
	}
}

func (e *entry) putOwn() *pb.PutRequest {
	return &pb.PutRequest{Key: []byte(e.key), Value: queue.NewLabel(e.lock.o), Lease: e.id}
}

// join enters the queue, unless our entry is already there: a repetition after
// a lost answer changes nothing. One round trip also returns the view.
func (e *entry) join(ctx context.Context, opts ...grpc.CallOption) (*view, error) {
	resp, err := call(ctx, e.lock.c, e.lock.c.kv.Txn, &pb.TxnRequest{
		Compare: []*pb.Compare{notCreated([]byte(e.key), nil)},
		Success: []*pb.RequestOp{opRange(e.rangeHead()), opRange(e.rangeLast(0)), opPut(e.putOwn()), opRange(e.rangeOwn())},
		Failure: []*pb.RequestOp{opRange(e.rangeOwn())},
	}, opts...)
	if err != nil {
		return nil, err
	}
	if !resp.Succeeded {
		return e.look(ctx, first(resp, 0).GetCreateRevision())
	}
	v := viewOf(resp, 3, 0, 1)
	v.fresh = true
	v.entries++
	if v.head == nil {
		v.head = v.own
	}
	return v, nil
}

// joinEmpty enters the queue only if nobody is in it.
func (e *entry) joinEmpty(ctx context.Context, opts ...grpc.CallOption) (*view, error) {
	resp, err := call(ctx, e.lock.c, e.lock.c.kv.Txn, &pb.TxnRequest{
		Compare: []*pb.Compare{notCreated([]byte(e.lock.queue), e.lock.queueEnd())},
		Success: []*pb.RequestOp{opPut(e.putOwn()), opRange(e.rangeHead())},
		Failure: []*pb.RequestOp{opRange(e.rangeHead())},
	}, opts...)
	if err != nil {
		return nil, err
	}
	v := &view{revision: resp.Header.Revision}
	if resp.Succeeded {
		v.head = first(resp, 1)
	} else {
		v.head = first(resp, 0)
		v.entries = int(resp.Responses[0].GetResponseRange().Count)
	}
	if v.head != nil && string(v.head.Key) == e.key { // perhaps by an earlier request, whose answer was lost
		v.own = v.head
	}
	return v, nil
}

// peek reads who leads.
func (e *entry) peek(ctx context.Context) (*view, error) {
	resp, err := call(ctx, e.lock.c, e.lock.c.kv.Range, e.rangeHead())
	if err != nil {
		return nil, err
	}
	return &view{revision: resp.Header.Revision, entries: int(resp.Count), head: firstOf(resp)}, nil
}

// look reads the current queue, given the revision that created our entry. The read is
// linearizable, because a member that lags behind may still show an old queue.
func (e *entry) look(ctx context.Context, created int64) (*view, error) {
	resp, err := call(ctx, e.lock.c, e.lock.c.kv.Txn, &pb.TxnRequest{
		Success: []*pb.RequestOp{opRange(e.rangeOwn()), opRange(e.rangeHead()), opRange(e.rangeLast(created - 1))},
	})
	if err != nil {
		return nil, err
	}
	v := viewOf(resp, 0, 1, 2)
	if v.own != nil && (v.own.CreateRevision != created || v.own.Lease != e.id) {
		v.own = nil // somebody else wrote it
	}
	return v, nil
}

// update writes the label of our entry again. If the entry is no longer the one we created,
// it returns errDeleted.
func (e *entry) update(ctx context.Context, created int64) error {
	resp, err := call(ctx, e.lock.c, e.lock.c.kv.Txn, &pb.TxnRequest{
		Compare: []*pb.Compare{isCreated([]byte(e.key), created)},
		Success: []*pb.RequestOp{opPut(e.putOwn())},
	})
	if err == nil && !resp.Succeeded {
		err = errDeleted
	}
	return err
}

// isCreated returns the condition that a revision created the key.
func isCreated(key []byte, revision int64) *pb.Compare {
	return is(clientv3.CreateRevision(string(key)), revision)
}

// notCreated returns the condition that no key of the range exists: the revision that
// created a key is never 0, and an empty range compares as 0.
func notCreated(key, end []byte) *pb.Compare {
	c := isCreated(key, 0)
	c.RangeEnd = end
	return c
}

func is(c clientv3.Cmp, value int64) *pb.Compare {
	c = clientv3.Compare(c, "=", value)
	return c.GetCompare()
}

func opRange(r *pb.RangeRequest) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: r}}
}

func opPut(r *pb.PutRequest) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: r}}
}

func opDelete(key []byte) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: key}}}
}

// viewOf returns the view of a transaction whose operations with these numbers are
// rangeOwn, rangeHead and rangeLast.
func viewOf(resp *pb.TxnResponse, own, head, last int) *view {
	v := &view{revision: resp.Header.Revision, term: resp.Header.RaftTerm}
	v.own, v.head, v.before = first(resp, own), first(resp, head), first(resp, last)
	v.entries = int(resp.Responses[head].GetResponseRange().Count)
	v.next = v.before != nil && !resp.Responses[last].GetResponseRange().More
	return v
}

// first returns the first key that the i-th operation found, or nil.
func first(resp *pb.TxnResponse, i int) *mvccpb.KeyValue {
	return firstOf(resp.Responses[i].GetResponseRange())
}

// firstOf returns the first key of an answer, or nil.
func firstOf(resp *pb.RangeResponse) *mvccpb.KeyValue {
	if kvs := resp.GetKvs(); len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}
