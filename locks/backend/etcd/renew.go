package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

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

// A renewal is the answer to a request for a renewal.
type renewal struct {
	term uint64 // of the cluster's leader, according to the member
	// proxied reports that etcd's grpc-proxy answered. A proxy passes on the next answer
	// that it gets, which may be for an earlier request.
	proxied bool
}

// extend renews the lease with one request.
func (e *entry) extend(ctx context.Context) (r renewal, err error) {
	var ttl time.Duration // 0 or less: the lease does not exist
	err = e.lock.c.onStream(ctx, func(s keepAliveStream) error {
		resp, err := askRenewal(s, e.id)
		if err != nil {
			return err
		}
		ttl, r.term = time.Duration(resp.TTL)*time.Second, resp.GetHeader().GetRaftTerm()
		r.proxied, err = e.lock.c.behindProxy(s)
		return err
	})
	granted := e.campaign.TTL()
	switch {
	case err == nil && ttl <= 0, errors.Is(err, rpctypes.ErrLeaseNotFound):
		err = errExpired
	case err == nil && ttl < granted:
		err = fmt.Errorf("the server renewed a lease of %v for %v", granted, ttl)
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
	look := []*pb.RequestOp{{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte(e.key)}}}}
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
	switch own := resp.Responses[0].GetResponseRange().GetKvs(); {
	case entered == 0: // we are not yet in the queue
	case len(own) == 0:
		return errDeleted
	case own[0].CreateRevision != entered || own[0].Lease != e.id:
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

// repeat makes a request until it has an answer or ctx ends. If there are several members,
// none gets more than half of the remaining time. Of its errors it returns the last that says more
// than that the time was up.
func (c *client) repeat(ctx context.Context, pause *backoff.Backoff, request func(context.Context) error) (says error) {
	for {
		limited, cancel := ctx, context.CancelFunc(func() {})
		if end, ok := ctx.Deadline(); ok && c.members > 1 {
			limited, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		}
		err := request(limited)
		cancel()
		if says == nil || !isContext(err) {
			says = err
		}
		if err == nil || !transient(err) || pause.Wait(ctx) != nil {
			return says
		}
	}
}

// proxied reports whether a grpc-proxy answers.
func (c *client) proxied(ctx context.Context) (is bool, err error) {
	err = c.onStream(ctx, func(s keepAliveStream) error {
		is, err = byProxy(s)
		return err
	})
	return is, err
}

type keepAliveStream = grpc.BidiStreamingClient[pb.LeaseKeepAliveRequest, pb.LeaseKeepAliveResponse]

// onStream opens a stream for f, which ends it.
func (c *client) onStream(ctx context.Context, f func(keepAliveStream) error) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx)) // ends the stream
	defer cancel()
	return c.withLogin(ctx, func() error {
		s, err := c.lease.LeaseKeepAlive(ctx, grpc.WaitForReady(true))
		if err != nil {
			return err
		}
		defer func() { _ = s.CloseSend() }() // lets the server end its side early; the context ends the stream anyway
		return f(s)
	})
}

func askRenewal(s keepAliveStream, lease int64) (*pb.LeaseKeepAliveResponse, error) {
	if err := s.Send(&pb.LeaseKeepAliveRequest{ID: lease}); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	} // after io.EOF, Recv returns the cause
	resp, err := s.Recv()
	if err == nil && resp.ID != lease {
		err = fmt.Errorf("the server answered for the lease %x instead of %x", resp.ID, lease)
	}
	return resp, err
}

// byProxy reports whether a proxy answers a stream. It renews a lease that does not exist.
// A server answers with a TTL of 0. A proxy (3.4 to 3.7) gets the same answer, requests
// the time left of the lease, and passes that on: -1.
func byProxy(s keepAliveStream) (bool, error) {
	resp, err := askRenewal(s, rand.Int64N(1<<63-1)+1)
	return resp.GetTTL() != 0, err
}

// behindProxy reports whether a proxy answers a stream that has had an answer. It asks once for
// each connection.
func (c *client) behindProxy(s keepAliveStream) (bool, error) {
	at, _ := peer.FromContext(s.Context())
	conn := c.conns.find(at)
	if conn != nil && conn.proxied.Load() != nil {
		return *conn.proxied.Load(), nil
	}
	is, err := byProxy(s)
	if err == nil && conn != nil {
		conn.proxied.Store(&is)
	}
	return is, err
}
