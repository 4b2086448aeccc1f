package etcd

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// retry repeats an attempt, within the connect timeout, until there is an answer. It gives up
// early enough for the caller to learn why.
//
// If the answer to a request was lost, or a member could not serve it, the request is
// sent again, to the next member. So a request must be harmless when it arrives twice: we
// choose the ids of leases, and writes have conditions. If no address is reachable, retry
// returns at once.
func (l *lock) retry(ctx context.Context, attempt func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	var lastErr error
	late := time.Now().Add(l.o.ConnectTimeout * 3 / 4)
	for pause := new(backoff.Backoff); ; {
		limited, cancel := l.c.attempt(ctx)
		err := attempt(limited)
		cancel()
		if err == nil {
			return nil
		}
		if lastErr == nil || !isContext(err) {
			lastErr = err // says more than a timeout does
		}
		if !transient(err) || l.c.unreachable() || time.Now().Add(pause.Next()).After(late) || pause.Wait(ctx) != nil {
			return lastErr
		}
	}
}

// get makes a request that only reads, and transact one that may safely be repeated.
func (l *lock) get(ctx context.Context, r *pb.RangeRequest) (resp *pb.RangeResponse, err error) {
	err = l.retry(ctx, func(ctx context.Context) (err error) { resp, err = call(ctx, l.c, l.c.kv.Range, r); return err })
	return resp, err
}

func (l *lock) transact(ctx context.Context, r *pb.TxnRequest) (resp *pb.TxnResponse, err error) {
	err = l.retry(ctx, func(ctx context.Context) (err error) { resp, err = call(ctx, l.c, l.c.kv.Txn, r); return err })
	return resp, err
}
