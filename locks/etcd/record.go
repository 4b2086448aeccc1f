package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/leaderrun/leaderrun/locks"
)

// Record implements [locks.Recorder].
func (l *Lock) Record(ctx context.Context) ([]byte, error) {
	resp, err := persist(ctx, l, func(ctx context.Context, _ bool) (*pb.RangeResponse, error) {
		return call(ctx, l.c, l.c.kv.Range, &pb.RangeRequest{Key: l.recordKey()})
	})
	if err != nil {
		return nil, l.fail(ctx, "read the record", err)
	}
	if len(resp.Kvs) == 0 {
		return nil, nil
	}
	return recordOf(resp.Kvs[0]), nil
}

// recordOf returns a record, or nil if there is none. Whatever else is at fault with
// what somebody wrote there, it is not longer than a record may be.
func recordOf(kv *mvccpb.KeyValue) []byte {
	if kv == nil {
		return nil
	}
	return append([]byte{}, kv.Value[:min(len(kv.Value), locks.MaxRecord)]...)
}

// SetRecord implements [locks.Recorder].
func (l *Lock) SetRecord(ctx context.Context, text []byte) error {
	if err := locks.CheckText(text); err != nil {
		return l.usage("set the record", err)
	}
	e, final := l.state()
	switch {
	case final != nil:
		return l.fail(ctx, "set the record", final)
	case e == nil || e.leading() == 0:
		return l.fail(ctx, "set the record", errNotHeld)
	}
	_, err := persist(ctx, l, func(ctx context.Context, _ bool) (struct{}, error) { return struct{}{}, e.write(ctx, text) })
	if err != nil {
		return l.fail(ctx, "set the record", err)
	}
	return nil
}

// write replaces the record if our entry is there, and so leads, and if the
// record is as we last knew it. The latter is for a request of ours that comes
// late, after one whose answer we had: it must not bring back an older text.
func (e *entry) write(ctx context.Context, text []byte) error {
	created, own, key := e.leading(), []byte(e.key), e.recordKey()
	for {
		resp, err := call(ctx, e.c, e.c.kv.Txn, &pb.TxnRequest{
			Compare: []*pb.Compare{isCreated(own, created), isLeased(own, e.id), isModified(key, e.lastWritten())},
			Success: []*pb.RequestOp{opPut(&pb.PutRequest{Key: key, Value: text})},
			Failure: []*pb.RequestOp{opRange(e.rangeOwn()), opRange(&pb.RangeRequest{Key: key})},
		})
		switch {
		case err != nil:
			return err
		case resp.Succeeded:
			e.wrote(resp.Header.Revision)
			return nil
		}
		if kv := first(resp, 0); kv.GetCreateRevision() != created {
			e.lose(errDeleted)
			return e.whyOver()
		} else if kv.Lease != e.id {
			e.lose(errReplaced)
			return e.whyOver()
		}
		e.wrote(first(resp, 1).GetModRevision())
	}
}

// leading is the revision that created our entry, if that has the lock, else 0.
func (e *entry) leading() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.created
}

func (e *entry) lastWritten() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.written
}

func (e *entry) wrote(revision int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.written = revision
}

// usage puts our name to what makes no sense.
func (l *Lock) usage(op string, err error) error {
	return &locks.Error{Op: op, Backend: l.addr, Name: l.o.Name, Class: locks.ErrUsage, Err: err}
}

var _ locks.Recorder = (*Lock)(nil)
