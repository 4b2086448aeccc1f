package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// An entry is one campaign's entry in the queue: a key that belongs to its own lease. It
// implements [queue.Entry].
type entry struct {
	lock     *lock
	campaign *queue.Campaign
	id       int64 // the lease's: random, and so a nonce
	key      string
	moved    chan struct{} // signalled when a renewal does not find the entry that we wait for
	view     *view         // the last view; only Enter, Await and Look use it
	watched  int64         // the first revision that WatchEntry has not seen; only it uses it
	heard    int64         // the same for WatchRequests
	revoked  bool          // the lease has certainly ended; only Leave uses it

	sent    atomic.Bool            // a request was sent that may have to be undone
	entered atomic.Int64           // the revision that created our entry; 0: unknown
	ahead   atomic.Pointer[string] // the key of the entry that we wait for; nil: we do not wait
	written atomic.Int64           // the revision of the record as we last knew it; 0: none
}

// NewEntry implements [queue.Store].
func (l *lock) NewEntry(c *queue.Campaign) (queue.Entry, error) {
	p := &entry{lock: l, campaign: c, moved: make(chan struct{}, 1)}
	p.of(rand.Int64N(1<<63-1) + 1)
	return p, nil
}

// of sets the entry's lease, and thereby its key.
func (e *entry) of(id int64) { e.id, e.key = id, entryKey(e.lock.queue, id) }

// A handover has what another handle needs to continue our term, or our place.
type handover struct {
	Lease   int64 `json:"lease"`
	Created int64 `json:"created"` // the revision of our entry
	TTL     int64 `json:"ttl_s"`
}

// Term implements [queue.Entry].
func (e *entry) Term() string {
	b, _ := json.Marshal(handover{e.id, e.entered.Load(), int64(e.campaign.TTL() / time.Second)}) // numbers can be encoded
	return string(b)
}

// Adopt implements [queue.Entry].
func (e *entry) Adopt(text string) (token uint64, err error) {
	var t handover
	if err = json.Unmarshal([]byte(text), &t); err != nil || t.Lease <= 0 || t.Created <= 0 || t.TTL <= 0 {
		return 0, &locks.UsageError{What: "not a term of an etcd lock"}
	}
	e.campaign.Granted(time.Duration(t.TTL) * time.Second)
	e.of(t.Lease)
	e.sent.Store(true)
	e.entered.Store(t.Created)
	return uint64(t.Created), nil
}

// WatchEntry implements [queue.Entry]. It watches our entry from its creation on: it misses
// nothing by starting late, because a watch starts at a revision. The end of the lease
// also deletes the entry.
func (e *entry) WatchEntry(ctx context.Context, pause *backoff.Backoff) error {
	if e.watched == 0 {
		e.watched = e.entered.Load() + 1
	} else if v, err := e.lookOnce(ctx); err == nil {
		e.watched = v.revision + 1
	} else if errors.Is(err, errDeleted) {
		return err
	} else {
		e.lock.log.Debug("cannot read the lock's entry", "err", plain(err))
	}
	return e.watchOwn(ctx, pause)
}

// watchOwn watches our entry until it is lost or the watch ends.
func (e *entry) watchOwn(ctx context.Context, pause *backoff.Backoff) error {
	created := e.entered.Load()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for resp := range e.lock.c.watch(ctx, "own", e.key, clientv3.WithRev(e.watched)) {
		if err := resp.Err(); err != nil {
			return err
		}
		pause.Reset()
		for _, ev := range resp.Events {
			switch {
			case ev.Type == clientv3.EventTypeDelete:
				return errDeleted
			case ev.Kv.CreateRevision != created || ev.Kv.Lease != e.id:
				return errReplaced
			}
			e.watched = ev.Kv.ModRevision + 1
		}
	}
	return ctx.Err()
}

// Update implements [queue.Entry].
func (e *entry) Update(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.lock.o.ConnectTimeout)
	defer cancel()
	return e.update(ctx, e.entered.Load())
}

// End implements [queue.Entry]. There is nothing to end: nothing is sent in the background.
func (e *entry) End(error) {}

// Leave implements [queue.Entry]: it ends the lease, if there may be one, which deletes the
// key. An attempt without an answer leaves time for another.
func (e *entry) Leave(ctx context.Context) error {
	if e.revoked || !e.sent.Load() {
		return nil
	}
	c := e.lock.c
	err := c.repeat(ctx, new(backoff.Backoff), func(ctx context.Context) error {
		c.conns.urgent.Store(true)
		ctx, cancel := backoff.Try(ctx)
		defer cancel()
		ctx, stop := c.attempt(ctx)
		defer stop()
		_, err := call(ctx, c, c.lease.LeaseRevoke, &pb.LeaseRevokeRequest{ID: e.id}, grpc.WaitForReady(true))
		return err
	})
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		err = nil
	}
	e.revoked = err == nil
	return err
}
