package etcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"

	"github.com/leaderrun/leaderrun/locks/backoff"
)

// An entry is one campaign's place in the queue: a key that belongs to a lease
// of its own. It is over when it was given up, failed, or was lost; a handle
// may make several entries, but only the last can have led.
type entry struct {
	*Lock
	id    int64 // the lease's: random, and so a nonce
	key   string
	ended chan struct{} // closed when the entry is over
	moved chan struct{} // told when a renewal misses the entry that we wait for

	// Guarded by Lock.mu.
	ttl     time.Duration // of the lease as granted; 0: there is none (yet)
	sent    bool          // something was sent that may have to be undone
	revoked bool          // the lease is surely gone
	entered int64         // the revision that created our entry; 0: it is not known
	ahead   string        // the key of the entry that we wait for; "": we do not wait
	created int64         // the revision of the entry that was granted the lock; 0: none
	written int64         // the revision of the record as we last knew it; 0: there is none
	over    error         // why the entry is over; nil: it is not
}

func (l *Lock) newEntry() *entry { return l.entryOf(rand.Int64N(1<<63-1) + 1) }

// entryOf makes the entry of a lease.
func (l *Lock) entryOf(id int64) *entry {
	return &entry{Lock: l, id: id, key: fmt.Sprintf("%s%016x", l.queue, id), ended: make(chan struct{}), moved: make(chan struct{}, 1)}
}

// end makes the entry over, unless it is already. Final says that this ends
// the handle, too.
func (e *entry) end(why error, final bool) (first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over != nil {
		return false
	}
	e.over = why
	if final && e.final == nil {
		e.final = why
	}
	close(e.ended)
	return true
}

// lose ends an entry that is surely not ours any more.
func (e *entry) lose(why error) {
	if e.end(why, true) {
		e.log.Info("lost the lock, or the place in its queue", "err", why)
		e.lost <- e.fail(context.Background(), "keep", why)
	}
}

func (e *entry) whyOver() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.over
}

// untilOver returns a context that ends with the entry, too.
func (e *entry) untilOver(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-e.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// spawn runs f in the background; Close waits for it.
func (e *entry) spawn(f func(context.Context)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over != nil {
		return
	}
	e.workers.Go(func() {
		ctx, cancel := e.untilOver(context.Background())
		defer cancel()
		f(ctx)
	})
}

// term returns the TTL of the lease, or why there is none any more.
func (e *entry) term() (time.Duration, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ttl, e.over
}

func (e *entry) granted() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ttl
}

// lead notes that the entry which a revision created has the lock.
func (e *entry) lead(created int64) {
	e.mu.Lock()
	e.created = created
	e.mu.Unlock()
	e.hear(created)
}

// undo removes what a failed campaign may have left. It is not bound to the
// caller's patience, which may have ended. That it may fail is worth a warning
// only if there surely is something left.
func (e *entry) undo(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	level := slog.LevelDebug
	if e.granted() > 0 {
		level = slog.LevelWarn
	}
	if err := e.revoke(ctx); err != nil {
		e.log.Log(ctx, level, "cannot undo an acquire; its lease will run out", "err", plain(err), "ttl", e.o.TTL)
	}
}

// revoke ends the lease, if there may be one, and so deletes the key.
func (e *entry) revoke(ctx context.Context) error {
	e.mu.Lock()
	needless := e.revoked || !e.sent
	e.ttl = 0 // nothing to renew any more
	e.mu.Unlock()
	if needless {
		return nil
	}
	for pause := new(backoff.Backoff); ; {
		err := e.revokeOnce(ctx)
		if err == nil || errors.Is(err, rpctypes.ErrLeaseNotFound) {
			break
		}
		if !transient(err) || pause.Wait(ctx) != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.revoked = true
	return nil
}

func (e *entry) revokeOnce(ctx context.Context) error {
	ctx, cancel := e.c.attempt(ctx)
	defer cancel()
	_, err := call(ctx, e.c, e.c.lease.LeaseRevoke, &pb.LeaseRevokeRequest{ID: e.id}, grpc.WaitForReady(true))
	return err
}
