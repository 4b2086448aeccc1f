package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// persist repeats what can be repeated, within the connect timeout, until there
// is an answer.
//
// A request whose answer was lost, or that a member could not serve, is simply
// sent again, to the next member. So what is sent must do no harm twice: the ids
// of leases are ours to choose, and what is written has conditions. An address
// where nobody is reachable is reported at once.
func persist[T any](ctx context.Context, l *lock, attempt func(ctx context.Context, again bool) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	var lastErr error
	for pause, again := new(backoff.Backoff), false; ; again = true {
		v, err := once(ctx, l.c, again, attempt)
		if err == nil {
			return v, nil
		}
		if lastErr == nil || !isContext(err) {
			lastErr = err // better than that the time is up
		}
		if !transient(err) || l.c.unreachable() || pause.Wait(ctx) != nil {
			return v, lastErr
		}
	}
}

// get makes a request that only reads, and transact one that may be repeated.
func (l *lock) get(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	return persist(ctx, l, func(ctx context.Context, _ bool) (*pb.RangeResponse, error) { return call(ctx, l.c, l.c.kv.Range, r) })
}

func (l *lock) transact(ctx context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	return persist(ctx, l, func(ctx context.Context, _ bool) (*pb.TxnResponse, error) { return call(ctx, l.c, l.c.kv.Txn, r) })
}

// does repeats what may be repeated, and returns nothing.
func (l *lock) does(ctx context.Context, f func(context.Context) error) error {
	_, err := persist(ctx, l, func(ctx context.Context, _ bool) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

// once does not wait for ever for one member.
func once[T any](ctx context.Context, c *client, again bool, attempt func(context.Context, bool) (T, error)) (T, error) {
	ctx, cancel := c.attempt(ctx)
	defer cancel()
	return attempt(ctx, again)
}
