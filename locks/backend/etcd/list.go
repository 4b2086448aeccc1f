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
	// listNames is the most locks on a page. Each takes two operations in one transaction,
	// and servers allow 128 by default (--max-txn-ops).
	listNames = 32
	// listKeys is how many keys one request reads for names, and listRequests how many of
	// these requests a page takes at most. So a page may be short, or empty, if there are
	// long queues or many keys that belong to no lock.
	listKeys     = 256
	listRequests = 8
)

// List implements [queue.Store]. First it reads only keys, to find names, and skips the
// rest of a queue after its first entry. Then it reads who leads in each queue, and the
// records, all at one moment.
//
// The cursor is the key where the next page begins, without the prefix. A record
// comes before its lock's queue, and other locks may be in between, on another
// page: then the lock is on the later page.
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
		p.addNames(resp)
	}
	listed, err := p.read(ctx, p.names)
	return listed, p.cursor(), err
}

// A page collects a part of the list.
type page struct {
	lock      *lock
	from, end string // the range of keys that were not yet read
	names     []string
	full      bool
}

func (l *lock) openPage(cursor string) (*page, error) {
	from, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || locks.CheckCursor(cursor) != nil {
		return nil, &locks.UsageError{What: "invalid cursor of a list"}
	}
	return &page{lock: l, from: l.prefix + string(from), end: endOf(l.prefix)}, nil
}

func (p *page) cursor() string {
	if p.from == p.end {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte(strings.TrimPrefix(p.from, p.lock.prefix)))
}

func (p *page) rangeKeys() *pb.RangeRequest {
	return &pb.RangeRequest{Key: []byte(p.from), RangeEnd: []byte(p.end), Limit: listKeys, KeysOnly: true}
}

// addNames adds the names of the locks that the keys belong to.
func (p *page) addNames(resp *pb.RangeResponse) {
	for _, kv := range resp.Kvs {
		key := string(kv.Key)
		if key < p.from { // in a queue that is skipped
			continue
		}
		if name, suffix := p.lock.owner(key); name != "" && suffix != askSuffix && !slices.Contains(p.names, name) {
			if len(p.names) == listNames {
				p.full = true
				return
			}
			p.names = append(p.names, name)
		}
		p.from = p.lock.after(key)
	}
	if !resp.More {
		p.from = p.end
	}
}

// read reads the locks with these names.
func (p *page) read(ctx context.Context, names []string) (all []locks.Listed, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	var ops []*pb.RequestOp
	for _, name := range names {
		ops = append(ops, opRange(rangeFirstOf(p.lock.keyOf(name, queueSuffix), 1)), opRange(&pb.RangeRequest{Key: []byte(p.lock.keyOf(name, recordSuffix))}))
	}
	resp, err := p.lock.transact(ctx, &pb.TxnRequest{Success: ops})
	if half := len(names) / 2; tooLong(err) && half > 0 { // somebody has written long values
		if all, err = p.read(ctx, names[:half]); err != nil {
			return nil, err
		}
		rest, err := p.read(ctx, names[half:])
		return append(all, rest...), err
	}
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		head, record := first(resp, 2*i), first(resp, 2*i+1)
		if why := foreignIn(p.lock.keyOf(name, queueSuffix), head); why != nil {
			p.lock.log.WarnContext(ctx, "left out of the list", "err", why)
		} else if p.has(name, head, record) {
			line := lineOf(head, int(resp.Responses[2*i].GetResponseRange().Count))
			all = append(all, locks.Listed{Name: name, Status: line.Status(), Record: queue.Clip(textOf(record))})
		}
	}
	return all, nil
}

// has reports whether a lock is on this page: not if it was deleted since its name was
// found, nor if its queue is on a later page.
func (p *page) has(name string, head, record *mvccpb.KeyValue) bool {
	if head == nil {
		return record != nil
	}
	return p.from > p.lock.keyOf(name, queueSuffix)
}
