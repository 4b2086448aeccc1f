package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// An entry is a place in the queue: a key that belongs to a lease of its own. It
// implements [queue.Entry].
type entry struct {
	*lock
	*queue.Campaign
	id      int64 // the lease's: random, and so a nonce
	key     string
	moved   chan struct{} // told when a renewal misses the entry that we wait for
	view    *view         // what Enter or Look have shown; theirs
	watched int64         // the next revision that Guard has not seen; its own
	heard   int64         // the same of Hear
	revoked bool          // the lease is surely gone; of Leave

	sent    atomic.Bool            // something was sent that may have to be undone
	entered atomic.Int64           // the revision that created our entry; 0: it is not known
	ahead   atomic.Pointer[string] // the key of the entry that we wait for; nil: we do not wait
	written atomic.Int64           // the revision of the record as we last knew it; 0: there is none
}

// NewEntry implements [queue.Store].
func (l *lock) NewEntry(c *queue.Campaign) (queue.Entry, error) {
	p := &entry{lock: l, Campaign: c, moved: make(chan struct{}, 1)}
	p.of(rand.Int64N(1<<63-1) + 1)
	return p, nil
}

// of makes it the entry of a lease.
func (e *entry) of(id int64) { e.id, e.key = id, fmt.Sprintf("%s%016x", e.queue, id) }

// A term is what another handle needs to go on with ours.
type term struct {
	Lease   int64 `json:"lease"`
	Created int64 `json:"created"` // the revision of our entry
	TTL     int64 `json:"ttl_s"`
}

// Term implements [queue.Entry].
func (e *entry) Term() string {
	b, _ := json.Marshal(term{e.id, e.entered.Load(), int64(e.TTL() / time.Second)}) // numbers can be encoded
	return string(b)
}

// Adopt implements [queue.Entry].
func (e *entry) Adopt(text string) (token uint64, err error) {
	var t term
	if err = json.Unmarshal([]byte(text), &t); err != nil || t.Lease <= 0 || t.Created <= 0 || t.TTL <= 0 {
		return 0, &locks.UsageError{What: "not a term of an etcd lock"}
	}
	e.Granted(time.Duration(t.TTL) * time.Second)
	e.of(t.Lease)
	e.sent.Store(true)
	e.entered.Store(t.Created)
	return uint64(t.Created), nil
}

// End implements [queue.Entry]: etcd does nothing by itself.
func (e *entry) End(error) {}

// Leave implements [queue.Entry]: it ends the lease, if there may be one, and so deletes
// the key.
func (e *entry) Leave(ctx context.Context) error {
	if e.revoked || !e.sent.Load() {
		return nil
	}
	err := e.c.again(ctx, new(backoff.Backoff), e.revokeOnce)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		err = nil
	}
	e.revoked = err == nil
	return err
}

func (e *entry) revokeOnce(ctx context.Context) error {
	ctx, cancel := e.c.attempt(ctx)
	defer cancel()
	_, err := call(ctx, e.c, e.c.lease.LeaseRevoke, &pb.LeaseRevokeRequest{ID: e.id}, grpc.WaitForReady(true))
	return err
}
