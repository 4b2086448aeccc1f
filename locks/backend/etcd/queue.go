package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// A lock is a queue: the keys <prefix>/<escaped name>/<lease id>, ordered by
// the revision at which they were created. The first one leads. Each belongs
// to a lease of its own, whose random id is the owner's nonce.

// A view is what one answer told about the queue.
type view struct {
	revision int64            // of the store, at that moment
	own      *mvccpb.KeyValue // our entry; nil: there is none
	head     *mvccpb.KeyValue // the entry that leads; nil: nobody does
	before   *mvccpb.KeyValue // the entry just before ours; nil: none
	entries  int              // how many there are
	fresh    bool             // our entry was the last at that moment
}

// leads reports that our entry is the first. The key alone would not do: it
// must be the very entry that we made.
func (v *view) leads() bool {
	return v.own != nil && v.head != nil && v.before == nil &&
		string(v.head.Key) == string(v.own.Key) && v.head.CreateRevision == v.own.CreateRevision
}

// seen keeps a view for what follows, and returns it as the recipe has it.
func (e *entry) seen(v *view) queue.View {
	e.view = v
	return queue.View{Line: lineOf(v.head, v.entries), Token: uint64(v.own.GetCreateRevision()), Leads: v.leads(), Position: v.position()}
}

// lineOf is a queue with that many entries.
func lineOf(head *mvccpb.KeyValue, entries int) queue.Line {
	if head == nil {
		return queue.Line{}
	}
	return queue.Line{Head: &queue.Head{Token: uint64(head.CreateRevision), Label: head.Value}, Waiters: max(entries-1, 0)}
}

// position is our place in the queue, where the view shows it; else 0.
func (v *view) position() int {
	switch {
	case v.fresh:
		return v.entries - 1 // nobody came after us yet
	case v.before != nil && v.head != nil && string(v.before.Key) == string(v.head.Key):
		return 1
	}
	return 0
}

// rangeOwn asks for our entry with its value: with only the key, servers from
// 3.7 on leave the lease out.
func (e *entry) rangeOwn() *pb.RangeRequest { return &pb.RangeRequest{Key: []byte(e.key)} }

func (e *entry) rangeHead() *pb.RangeRequest { return e.rangeFirst(1) }

// rangeFirst asks for the oldest entries, and how many there are in all.
func (l *lock) rangeFirst(most int64) *pb.RangeRequest { return rangeFirstOf(l.queue, most) }

func rangeFirstOf(queue string, most int64) *pb.RangeRequest {
	return &pb.RangeRequest{
		Key: []byte(queue), RangeEnd: []byte(endOf(queue)), Limit: most,
		SortTarget: pb.RangeRequest_CREATE, SortOrder: pb.RangeRequest_ASCEND,
	}
}

// rangeLast asks for the youngest entry created at most at a revision; 0: any.
func (e *entry) rangeLast(created int64) *pb.RangeRequest {
	return &pb.RangeRequest{
		Key: []byte(e.queue), RangeEnd: e.queueEnd(), Limit: 1, KeysOnly: true, MaxCreateRevision: created,
		SortTarget: pb.RangeRequest_CREATE, SortOrder: pb.RangeRequest_DESCEND,
	}
}

func (e *entry) putOwn() *pb.PutRequest {
	return &pb.PutRequest{Key: []byte(e.key), Value: queue.NewLabel(e.o), Lease: e.id}
}

// join enters the queue, unless our entry is there already: a repetition after
// a lost answer changes nothing. It tells everything in one round trip.
func (e *entry) join(ctx context.Context, opts ...grpc.CallOption) (*view, error) {
	resp, err := call(ctx, e.c, e.c.kv.Txn, &pb.TxnRequest{
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
	v := &view{revision: resp.Header.Revision, head: first(resp, 0), before: first(resp, 1), own: first(resp, 3), fresh: true}
	v.entries = int(resp.Responses[0].GetResponseRange().Count) + 1
	if v.head == nil {
		v.head = v.own
	}
	return v, nil
}

// joinEmpty enters the queue only if nobody is in it.
func (e *entry) joinEmpty(ctx context.Context, opts ...grpc.CallOption) (*view, error) {
	resp, err := call(ctx, e.c, e.c.kv.Txn, &pb.TxnRequest{
		Compare: []*pb.Compare{notCreated([]byte(e.queue), e.queueEnd())},
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
	if v.head != nil && string(v.head.Key) == e.key { // also after a lost answer
		v.own = v.head
	}
	return v, nil
}

// peek reads who leads.
func (e *entry) peek(ctx context.Context) (*view, error) {
	resp, err := call(ctx, e.c, e.c.kv.Range, e.rangeHead())
	if err != nil {
		return nil, err
	}
	v := &view{revision: resp.Header.Revision, entries: int(resp.Count)}
	if len(resp.Kvs) > 0 {
		v.head = resp.Kvs[0]
	}
	return v, nil
}

// look reads the queue as it is now, given the revision that created our
// entry. An answer from a member that lags behind would not do.
func (e *entry) look(ctx context.Context, created int64) (*view, error) {
	resp, err := call(ctx, e.c, e.c.kv.Txn, &pb.TxnRequest{
		Success: []*pb.RequestOp{opRange(e.rangeOwn()), opRange(e.rangeHead()), opRange(e.rangeLast(created - 1))},
	})
	if err != nil {
		return nil, err
	}
	v := &view{revision: resp.Header.Revision, own: first(resp, 0), head: first(resp, 1), before: first(resp, 2)}
	v.entries = int(resp.Responses[1].GetResponseRange().Count)
	if v.own != nil && (v.own.CreateRevision != created || v.own.Lease != e.id) {
		v.own = nil // somebody else wrote it
	}
	return v, nil
}

// restamp writes our record anew, if the entry is still the one we made.
func (e *entry) restamp(ctx context.Context, created int64) error {
	_, err := call(ctx, e.c, e.c.kv.Txn, &pb.TxnRequest{
		Compare: []*pb.Compare{isCreated([]byte(e.key), created)},
		Success: []*pb.RequestOp{opPut(e.putOwn())},
	})
	return err
}

// isCreated is true if a revision created the key.
func isCreated(key []byte, revision int64) *pb.Compare {
	return is(clientv3.CreateRevision(string(key)), revision)
}

// notCreated is true if no key of the range exists: the revision that created
// a key is never 0, and an empty range compares as 0.
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

// first returns the first key that the i-th operation found, or nil.
func first(resp *pb.TxnResponse, i int) *mvccpb.KeyValue {
	if kvs := resp.Responses[i].GetResponseRange().GetKvs(); len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}
