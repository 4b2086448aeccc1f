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
func (l *lock) persist(ctx context.Context, attempt func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	var lastErr error
	for pause := new(backoff.Backoff); ; {
		limited, cancel := l.c.attempt(ctx)
		err := attempt(limited)
		cancel()
		if err == nil {
			return nil
		}
		if lastErr == nil || !isContext(err) {
			lastErr = err // better than that the time is up
		}
		if !transient(err) || l.c.unreachable() || pause.Wait(ctx) != nil {
			return lastErr
		}
	}
}

// get makes a request that only reads, and transact one that may be repeated.
func (l *lock) get(ctx context.Context, r *pb.RangeRequest) (resp *pb.RangeResponse, err error) {
	err = l.persist(ctx, func(ctx context.Context) (err error) { resp, err = call(ctx, l.c, l.c.kv.Range, r); return err })
	return resp, err
}

func (l *lock) transact(ctx context.Context, r *pb.TxnRequest) (resp *pb.TxnResponse, err error) {
	err = l.persist(ctx, func(ctx context.Context) (err error) { resp, err = call(ctx, l.c, l.c.kv.Txn, r); return err })
	return resp, err
}
