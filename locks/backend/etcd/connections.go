package etcd

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// A connection is not a server: one address may lead to several, as that of a balancer does,
// or of a Service in Kubernetes. By itself, gRPC keeps a connection for as long as something
// answers pings, as a member without a leader does, and notices only after 13 s that nothing
// does, which is longer than a lease can wait. So we close a connection over which a request
// had no answer, or met a member that cannot serve it now. gRPC then makes another, and goes
// on with that when an attempt has ended.

const (
	// firstDrop and lastDrop bound how long a waiter keeps such a connection, unless it
	// serves a request meanwhile: a fleet of waiters must not dial at once.
	firstDrop = time.Second
	lastDrop  = 10 * time.Second
)

var errDropped = errors.New("the connection was closed because it had not served a request")

// connections has the connections of a client. It learns of each from the credentials that
// gRPC uses for it, and of what it serves from the interceptors.
type connections struct {
	// urgent is set by each attempt of a holder to renew, or to release: the next bad
	// connection is then closed at once.
	urgent atomic.Bool

	mu    sync.Mutex
	all   map[ends]*connection
	pause backoff.Backoff // before a waiter closes a bad one
}

// ends are both addresses of a connection.
type ends struct{ local, remote string }

func newConnections() *connections {
	return &connections{all: map[ends]*connection{}, pause: backoff.Backoff{Shortest: firstDrop, Longest: lastDrop}}
}

// A connection is one that gRPC uses.
type connection struct {
	net.Conn
	raw     net.Conn // below TLS: closing it never waits
	of      *connections
	begun   time.Time
	dropped atomic.Bool
	drop    *time.Timer          // will close it; nil: nothing will
	proxied atomic.Pointer[bool] // whether it leads to a grpc-proxy; nil: unknown
}

// noting returns credentials that note each connection.
func (cs *connections) noting(c credentials.TransportCredentials) credentials.TransportCredentials {
	return notingCredentials{c, cs}
}

type notingCredentials struct {
	credentials.TransportCredentials
	connections *connections
}

// ClientHandshake implements credentials.TransportCredentials.
func (n notingCredentials) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := n.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		return nil, nil, err
	}
	c := &connection{Conn: conn, raw: raw, of: n.connections, begun: time.Now()}
	n.connections.add(c)
	return c, info, nil
}

// Clone implements credentials.TransportCredentials.
func (n notingCredentials) Clone() credentials.TransportCredentials {
	return n.connections.noting(n.TransportCredentials.Clone())
}

func (c *connection) ends() ends { return ends{c.LocalAddr().String(), c.RemoteAddr().String()} }

// Read returns errDropped if we have closed the connection.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && c.dropped.Load() {
		err = errDropped
	}
	return n, err
}

func (c *connection) Close() error {
	c.of.remove(c)
	return c.Conn.Close() // that of TLS may take a while
}

func (cs *connections) add(c *connection) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.all[c.ends()] = c
}

func (cs *connections) remove(c *connection) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.all, c.ends())
	c.keep()
}

// keep is called with the mutex of its connections held.
func (c *connection) keep() {
	if c.drop != nil {
		c.drop.Stop()
	}
	c.drop = nil
}

func (c *connection) end() {
	c.dropped.Store(true)
	_ = c.raw.Close()
}

// find returns the connection of a request, or nil if it had none, or that has ended.
func (cs *connections) find(at *peer.Peer) *connection {
	if at == nil || at.LocalAddr == nil {
		return nil
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.all[ends{at.LocalAddr.String(), at.Addr.String()}]
}

// judge notes how a request over a connection ended, which began at start. A connection that
// was made meanwhile has had too little time for a timeout to say something.
func (cs *connections) judge(at *peer.Peer, start time.Time, err error) {
	c := cs.find(at)
	if c == nil {
		return
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	switch late := status.Code(err) == codes.DeadlineExceeded; {
	case status.Code(err) == codes.Canceled, late && time.Since(c.begun) < time.Since(start)/2:
	case !late && (status.Code(err) != codes.Unavailable || byLearner(err)):
		cs.pause.Reset()
		c.keep()
	case cs.urgent.CompareAndSwap(true, false):
		c.end()
	case c.drop == nil:
		c.drop = time.AfterFunc(cs.pause.Take(), c.end)
	}
}

// unary and stream are interceptors that judge connections by all requests.
func (cs *connections) unary(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, send grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	var at peer.Peer
	start := time.Now()
	err := send(ctx, method, req, reply, conn, append(opts, grpc.Peer(&at))...)
	cs.judge(&at, start, err)
	return err
}

func (cs *connections) stream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	start := time.Now()
	s, err := open(ctx, desc, conn, method, opts...)
	if err != nil {
		return nil, err
	}
	return judgedStream{s, cs, start, method == pb.Watch_Watch_FullMethodName}, nil
}

type judgedStream struct {
	grpc.ClientStream
	connections *connections
	start       time.Time
	watches     bool
}

// RecvMsg also makes clientv3 use another member for a watch that a learner refuses.
func (s judgedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	at, _ := peer.FromContext(s.Context())
	s.connections.judge(at, s.start, err)
	if s.watches && byLearner(err) {
		_ = backoff.Sleep(s.Context(), learnerPause)
		err = retryElsewhere(err)
	}
	return err
}
