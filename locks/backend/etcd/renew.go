package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

var (
	errOtherLeader = errors.New("the cluster's leader changed while the lease was renewed")
	errStale       = errors.New("the answer was for an earlier renewal")
	errProxy       = errors.New("a grpc-proxy may have answered for an earlier renewal; ruling that out takes a second")
)

// Renew implements [queue.Entry]: it renews the lease, and looks at the queue.
//
// The answer to a renewal proves little, because a member that believes that it leads
// answers by itself. In servers before 3.4.31 and 3.5.13, a member whose disk hangs keeps
// believing this, while the others have elected another leader and the lease ends there.
// Nor does a watch report anything if its member hangs. So only a read that a majority
// agrees to counts, after the renewal and with the same leader. It also shows whether our
// entry and the one before it still exist.
//
// A member that does not answer leaves time for the next one.
func (e *entry) Renew(ctx context.Context) error {
	e.lock.c.conns.urgent.Store(e.campaign.Token() != 0)
	start := time.Now()
	pause := &backoff.Backoff{Shortest: 5 * time.Millisecond}
	for {
		var r renewal
		err := e.lock.c.repeat(ctx, pause, func(ctx context.Context) (err error) {
			r, err = e.extend(ctx)
			return err
		})
		if err == nil && r.proxied {
			r.term, err = e.measure(ctx, start, pause)
		}
		if over := e.campaign.Over(); over != nil {
			return over
		}
		if err == nil {
			err = e.lock.c.repeat(ctx, pause, func(ctx context.Context) error { return e.confirm(ctx, r.term) })
		}
		if !errors.Is(err, errOtherLeader) && !errors.Is(err, errStale) || pause.Wait(ctx) != nil {
			return err
		}
	}
}

// extend renews the lease.
func (e *entry) extend(ctx context.Context) (renewal, error) {
	granted := e.campaign.TTL()
	r, err := e.lock.c.keepAlive(ctx, e.id)
	switch {
	case err == nil && r.ttl <= 0, errors.Is(err, rpctypes.ErrLeaseNotFound):
		err = errExpired
	case err == nil && r.ttl < granted:
		err = fmt.Errorf("the server renewed a lease of %[2]v for %[1]v", r.ttl, granted)
	}
	return r, err
}

// measure proves that the lease was renewed after start, by the time left of it, which a
// proxy always requests from its server. The server rounds down to whole seconds, so
// measure waits until a second has passed; before, the time left would prove nothing.
func (e *entry) measure(ctx context.Context, start time.Time, pause *backoff.Backoff) (term uint64, err error) {
	if backoff.Sleep(ctx, time.Until(start.Add(time.Second))) != nil {
		return 0, errProxy
	}
	var asked time.Time
	var resp *pb.LeaseTimeToLiveResponse
	err = e.lock.c.repeat(ctx, pause, func(ctx context.Context) (err error) {
		asked = time.Now()
		resp, err = call(ctx, e.lock.c, e.lock.c.lease.LeaseTimeToLive, &pb.LeaseTimeToLiveRequest{ID: e.id})
		return err
	})
	left := time.Duration(resp.GetTTL()) * time.Second
	if err == nil && asked.Sub(start)+left < e.campaign.TTL() {
		err = errStale
	}
	return resp.GetHeader().GetRaftTerm(), err
}

// confirm looks at the queue. It returns errOtherLeader if the cluster's term has changed.
func (e *entry) confirm(ctx context.Context, term uint64) error {
	entered, ahead := e.entered.Load(), e.ahead.Load()
	look := []*pb.RequestOp{opRange(e.rangeOwn())}
	if ahead != nil {
		look = append(look, opRange(&pb.RangeRequest{Key: []byte(*ahead), KeysOnly: true}))
	}
	resp, err := call(ctx, e.lock.c, e.lock.c.kv.Txn, &pb.TxnRequest{Success: look})
	if err != nil {
		return err
	}
	if resp.Header.RaftTerm != term {
		return errOtherLeader
	}
	switch own := first(resp, 0); {
	case entered == 0: // we are not yet in the queue
	case own == nil:
		return errDeleted
	case own.CreateRevision != entered || own.Lease != e.id:
		return errReplaced
	}
	switch {
	case ahead == nil: // we do not wait
	case first(resp, 1) == nil:
		workers.Poke(e.moved)
	default:
		e.campaign.StillWaits()
	}
	return nil
}
