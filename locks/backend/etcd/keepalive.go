package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
)

// A renewal is the answer to a request for a renewal.
type renewal struct {
	ttl  time.Duration // of the renewed lease; 0 or less: the lease does not exist
	term uint64        // of the cluster's leader, according to the member
	// proxied reports that etcd's grpc-proxy answered. A proxy passes on the next answer
	// that it gets, which may be for an earlier request.
	proxied bool
}

// keepAlive renews a lease with one request.
func (c *client) keepAlive(ctx context.Context, lease int64) (r renewal, err error) {
	err = c.onStream(ctx, func(s keepAliveStream) error {
		resp, err := askRenewal(s, lease)
		if err != nil {
			return err
		}
		r.ttl, r.term = time.Duration(resp.TTL)*time.Second, resp.GetHeader().GetRaftTerm()
		r.proxied, err = c.behindProxy(s)
		return err
	})
	return r, err
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
