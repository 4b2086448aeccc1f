package etcd

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

const (
	// listNames is the most locks of a page. For each there are two operations in
	// one transaction, and servers take 128 unless told otherwise (--max-txn-ops).
	listNames = 32
	// listKeys is how many keys one request looks at for names, and listRequests
	// how many of these a page takes at most. A page may so be short, or empty,
	// where there are long queues, or keys that are no locks'.
	listKeys     = 256
	listRequests = 8
)

// List implements [queue.Lister]. First it looks at the keys alone for names,
// and goes on behind a queue as soon as it has met one entry of it. Then it reads
// who leads in each, and the records, all at one moment.
//
// The cursor is the key where the next page begins, without the prefix. A record
// stands before its lock's queue, and other locks may be in between, on another
// page: then who holds the lock is told on the later one.
func (l *lock) List(ctx context.Context, cursor string) ([]locks.Listed, string, error) {
	p, err := l.openPage(cursor)
	if err != nil {
		return nil, "", err
	}
	for requests := 0; requests < listRequests && !p.full && p.from != p.end; requests++ {
		resp, err := l.get(ctx, p.rangeKeys())
		if err != nil {
			return nil, "", err
		}
		p.take(resp)
	}
	listed, err := p.read(ctx)
	return listed, p.cursor(), err
}

// A page is a part of the list in the making.
type page struct {
	*lock
	from, end string // the keys that were not looked at yet
	names     []string
	full      bool
}

func (l *lock) openPage(cursor string) (*page, error) {
	from, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || locks.CheckCursor(cursor) != nil {
		return nil, &locks.UsageError{What: "a cursor that no page of the list has"}
	}
	return &page{lock: l, from: l.prefix + string(from), end: endOf(l.prefix)}, nil
}

func (p *page) cursor() string {
	if p.from == p.end {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte(strings.TrimPrefix(p.from, p.prefix)))
}

func (p *page) rangeKeys() *pb.RangeRequest {
	return &pb.RangeRequest{Key: []byte(p.from), RangeEnd: []byte(p.end), Limit: listKeys, KeysOnly: true}
}

// take notes which locks there are.
func (p *page) take(resp *pb.RangeResponse) {
	for _, kv := range resp.Kvs {
		key := string(kv.Key)
		if key < p.from { // in a queue that was met before
			continue
		}
		if name, what := p.owner(key); name != "" && what != theAsk && !slices.Contains(p.names, name) {
			if len(p.names) == listNames {
				p.full = true
				return
			}
			p.names = append(p.names, name)
		}
		p.from = p.after(key)
	}
	if !resp.More {
		p.from = p.end
	}
}

// read tells of the locks that were met.
func (p *page) read(ctx context.Context) (all []locks.Listed, err error) {
	if len(p.names) == 0 {
		return nil, nil
	}
	var ops []*pb.RequestOp
	for _, name := range p.names {
		ops = append(ops, opRange(rangeFirstOf(p.keyOf(name, inQueue), 1)), opRange(&pb.RangeRequest{Key: []byte(p.keyOf(name, theRecord))}))
	}
	resp, err := p.transact(ctx, &pb.TxnRequest{Success: ops})
	if err != nil {
		return nil, err
	}
	for i, name := range p.names {
		head, record := first(resp, 2*i), first(resp, 2*i+1)
		if p.tells(name, head, record) {
			line := lineOf(head, int(resp.Responses[2*i].GetResponseRange().Count))
			all = append(all, locks.Listed{Name: name, Status: line.Status(), Record: queue.Clip(textOf(record))})
		}
	}
	return all, nil
}

// tells reports that a lock is told of on this page: not one that has gone
// meanwhile, and not one whose queue is still to come.
func (p *page) tells(name string, head, record *mvccpb.KeyValue) bool {
	if head == nil {
		return record != nil
	}
	return p.from > p.keyOf(name, inQueue)
}
