package etcd

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/leaderrun/leaderrun/locks/kit/hosts"
	"github.com/leaderrun/leaderrun/locks/kit/proxy"
)

const (
	// pingAfter is the silence after which we ping a connection. gRPC allows at least
	// 10 s, etcd servers at least 5 s.
	pingAfter = 10 * time.Second
	// pingTimeout is how long the answer may take. It is also how long Linux
	// waits for sent data to be acknowledged (TCP_USER_TIMEOUT).
	pingTimeout = 3 * time.Second
	// maxAnswer is the longest message that is read, in bytes. gRPC's own 4 MiB are less
	// than three values that somebody may have written, because each may have 1.5 MiB; the
	// library's for watches is 2 GiB. While a message is decoded, it is in memory twice.
	maxAnswer = 48 << 20
	// window is how many bytes a server may send before we have read them. Without a fixed
	// number gRPC measures the connection, and so sends a ping with almost every request:
	// a third of the processor time of a helper that only renews.
	window = 1 << 20
	// reconnectMax bounds the pause between two attempts to connect: gRPC's own
	// 2 minutes are far longer than a lease. It is reached soon, or a fleet of waiters
	// would dial too often.
	reconnectMax = time.Second
)

// A client is a connection to a cluster. It uses clientv3's resolver, balancer and
// watcher, but its requests bypass clientv3's interceptors: these wait for a connection
// instead of reporting an error, retry up to 100 times, and with authentication log in
// again for each stream, which costs the server a bcrypt hash.
type client struct {
	etcd  *clientv3.Client
	kv    pb.KVClient
	lease pb.LeaseClient
	auth  pb.AuthClient
	login *login

	maintenance pb.MaintenanceClient

	conns   *connections
	members int           // the number of endpoints
	timeout time.Duration // the connect timeout
}

// newClient begins to connect and does not wait for it.
func newClient(s *settings, connectTimeout time.Duration) (*client, error) {
	c := &client{login: newLogin(s.user, s.password), conns: newConnections(), members: len(s.endpoints), timeout: connectTimeout}
	dial := []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithStaticStreamWindowSize(window),
		grpc.WithStaticConnWindowSize(window),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           grpcbackoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 10, Jitter: 0.2, MaxDelay: reconnectMax},
			MinConnectTimeout: connectTimeout,
		}),
		grpc.WithChainUnaryInterceptor(c.conns.unary),
		grpc.WithChainStreamInterceptor(c.conns.stream),
	}
	if !slices.ContainsFunc(s.endpoints, func(endpoint string) bool { return proxy.GRPC("", endpoint) != "" }) {
		to := hosts.Dialer(new(net.Dialer).DialContext) // with which gRPC would use no proxy
		dial = append(dial, grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return to(ctx, "tcp", addr) }))
	}
	if s.user != "" {
		dial = append(dial, grpc.WithPerRPCCredentials(c.login))
	}
	var first *tls.Config
	creds := insecure.NewCredentials()
	if s.tls != nil {
		first = s.tls.Config()
		creds = newAlertCredentials(first, s.tls.Resuming)
	}
	dial = append(dial, grpc.WithTransportCredentials(c.conns.noting(creds)))
	if first != nil && first.ServerName != "" { // gRPC takes the name only from here
		dial = append(dial, grpc.WithAuthority(first.ServerName))
	}
	var err error
	c.etcd, err = clientv3.New(clientv3.Config{
		Endpoints:            s.endpoints,
		TLS:                  first,
		DialKeepAliveTime:    pingAfter,
		DialKeepAliveTimeout: pingTimeout,
		MaxUnaryRetries:      1, // one attempt, no retries
		MaxCallRecvMsgSize:   maxAnswer,
		Logger:               zap.NewNop(),
		DialOptions:          dial,
	})
	if err != nil {
		return nil, err
	}
	conn := c.etcd.ActiveConnection()
	c.kv, c.lease, c.auth = pb.NewKVClient(conn), pb.NewLeaseClient(conn), pb.NewAuthClient(conn)
	c.maintenance = pb.NewMaintenanceClient(conn)
	conn.Connect()
	return c, nil
}

// watch watches a key. Watches with different purposes have separate streams, because
// clientv3 opens one for each set of metadata. A watch on an old stream would have that
// stream's login, which may have expired.
func (c *client) watch(ctx context.Context, purpose, key string, o ...clientv3.OpOption) clientv3.WatchChan {
	ctx = metadata.AppendToOutgoingContext(clientv3.WithRequireLeader(ctx), "leaderrun-watch", purpose)
	return c.etcd.Watch(ctx, key, o...)
}

func (c *client) close() { _ = c.etcd.Close() } // its only error is that the context was cancelled

// unreachable reports whether the last attempts to connect to all endpoints have failed.
func (c *client) unreachable() bool {
	return c.etcd.ActiveConnection().GetState() == connectivity.TransientFailure
}

// attempt bounds one of several requests, so that a silent member does not use up all the
// time: the next request goes to the next member, or over another connection.
func (c *client) attempt(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.members > 1 {
		return context.WithTimeout(ctx, c.timeout/4)
	}
	return context.WithTimeout(ctx, c.timeout/2)
}

// call makes one request, and repeats it if the server wants a new login. Errors that etcd
// has defined are those of package rpctypes.
func call[Req, Resp any](ctx context.Context, c *client, method func(context.Context, Req, ...grpc.CallOption) (Resp, error), req Req, opts ...grpc.CallOption) (resp Resp, err error) {
	ctx = clientv3.WithRequireLeader(ctx)
	err = c.withLogin(ctx, func() error {
		resp, err = method(ctx, req, opts...)
		return err
	})
	return resp, err
}

// withLogin sends a request with a valid token, if the cluster wants one. If a learner
// refuses the request, it goes to the next member.
func (c *client) withLogin(ctx context.Context, send func() error) (err error) {
	for range 2 * c.members { // other requests also move the turn on
		seen := 0
		if c.login.user != "" {
			if seen, err = c.login.renewed(ctx, 0, c.auth); err != nil {
				return err
			}
		}
		err = rpctypes.Error(send())
		if err != nil && c.login.refused(err) {
			if _, err = c.login.renewed(ctx, seen, c.auth); err == nil {
				err = rpctypes.Error(send())
			}
		}
		if err == nil || c.members == 1 || !byLearner(err) {
			return err
		}
	}
	return retryElsewhere(err)
}
