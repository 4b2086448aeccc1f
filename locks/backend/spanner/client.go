package spanner

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"
	spanner "cloud.google.com/go/spanner/apiv1"
	pb "cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

const (
	// reconnectMax bounds the pause between two attempts to connect: gRPC's own 2 minutes
	// are far longer than a lease.
	reconnectMax = time.Second
	// maxAnswer is the longest answer that is read, in bytes. What a statement returns of a
	// row has at most 64 Ki characters and 4 KiB, and a page has [locks.MaxList] rows.
	maxAnswer = 20 << 20
)

// A client sends requests over one connection. It uses the service's generated client, and
// not the one above it, which repeats commits whose outcome is unknown, keeps sessions alive
// in the background, and sends metrics.
type client struct {
	settings *settings
	timeout  time.Duration   // for connecting
	life     context.Context // ends when the client is closed
	end      context.CancelFunc

	once  sync.Once
	ready chan struct{}     // closed when the following fields are set
	creds *auth.Credentials // nil: requests are anonymous
	err   error

	mu      sync.Mutex
	api     *spanner.Client // nil: the next request makes a connection
	detach  func() bool     // reports whether it kept the end of life from closing api
	current *session        // nil: the next request creates one
}

// A session is what the service wants each request to be made in. It can have any number of
// transactions at a time, needs no deletion, and lasts 28 days.
type session struct {
	name    string
	dialect *dialect
}

func newClient(s *settings, timeout time.Duration) *client {
	c := &client{settings: s, timeout: timeout, ready: make(chan struct{})}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// open returns the connection. The first call looks for credentials, and may have to ask the
// machine's metadata server; ctx bounds the wait for that, and for a new access token.
func (c *client) open(ctx context.Context) (*spanner.Client, error) {
	c.once.Do(func() { go c.search() })
	select {
	case <-c.ready:
	case <-ctx.Done():
		return nil, &searchError{ctx.Err()}
	}
	if c.err != nil {
		return nil, c.err
	}
	if c.creds != nil {
		if _, err := c.creds.Token(ctx); err != nil { // gRPC would only pass on its text
			return nil, &tokenError{err}
		}
	}
	return c.connection()
}

// search looks for credentials.
func (c *client) search() {
	defer close(c.ready)
	if c.settings.anonymous() {
		return
	}
	// What would be sent to another host has credentials.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o := &credentials.DetectOptions{Scopes: spanner.DefaultAuthScopes(), Client: &http.Client{Timeout: time.Minute, CheckRedirect: stay}}
	c.creds, c.err = credentials.DetectDefault(o)
	if c.err == nil && bytes.Contains(c.creds.JSON(), []byte("use_default_certificate_config")) {
		o.Client = nil // only a client of the library has that certificate
		c.creds, c.err = credentials.DetectDefault(o)
	}
	if c.err != nil {
		c.err = &credentialsError{c.err}
	}
}

// connection returns the connection. If there is none, it makes one, and does not wait for
// it.
func (c *client) connection() (*spanner.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.api != nil {
		return c.api, nil
	}
	opts := []option.ClientOption{
		option.WithTelemetryDisabled(),
		option.WithGRPCConnectionPool(1),
		option.WithGRPCDialOption(grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer))),
		option.WithGRPCDialOption(grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           grpcbackoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectMax},
			MinConnectTimeout: c.timeout,
		})),
	}
	if _, address, ok := strings.Cut(c.settings.endpoint, "://"); ok {
		opts = append(opts, option.WithEndpoint(address))
	}
	if c.creds == nil {
		opts = append(opts, option.WithoutAuthentication(), option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	} else {
		opts = append(opts, option.WithAuthCredentials(c.creds))
	}
	api, err := spanner.NewClient(c.life, opts...)
	if err != nil {
		return nil, &credentialsError{err}
	}
	api.CallOptions = &spanner.CallOptions{} // no retries, and no timeouts but those of contexts
	c.api, c.detach = api, context.AfterFunc(c.life, func() { _ = api.Close() })
	return api, nil
}

// in returns the session, and a context for requests in it. The first call creates the
// session, and asks for the dialect of the database.
func (c *client) in(ctx context.Context) (context.Context, *spanner.Client, *session, error) {
	api, err := c.open(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	// The service wants to know the database. In a configuration with several regions, the
	// leader's region is the one that can answer all our requests.
	ctx = metadata.AppendToOutgoingContext(ctx, "google-cloud-resource-prefix", c.settings.path(), "x-goog-spanner-route-to-leader", "true")
	if s := c.known(); s != nil {
		return ctx, api, s, nil
	}
	made, err := api.CreateSession(ctx, &pb.CreateSessionRequest{Database: c.settings.path(), Session: &pb.Session{Multiplexed: true}})
	if err != nil {
		return nil, nil, nil, c.failed(api, nil, err)
	}
	s := &session{name: made.GetName(), dialect: googleSQL}
	res, err := api.ExecuteSql(ctx, &pb.ExecuteSqlRequest{Session: s.name, Sql: dialectSQL})
	if err != nil {
		return nil, nil, nil, c.failed(api, nil, err)
	}
	if rows := res.GetRows(); len(rows) > 0 && rows[0].GetValues()[0].GetStringValue() == "POSTGRESQL" {
		s.dialect = postgreSQL
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = s
	return ctx, api, s, nil
}

// known returns the session, or nil if there is none.
func (c *client) known() *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// failed returns the error of a request, and does away with what may have caused it: a session
// that the service has deleted, or a connection that may have fallen silent, or leads to a
// server that cannot serve. Other requests may still be answered on it. One that is still being
// made serves the next request.
func (c *client) failed(api *spanner.Client, s *session, err error) error {
	err = local(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	if noSession(err) && c.current == s {
		c.current = nil
	}
	unserved := errors.Is(err, context.DeadlineExceeded) || like(codes.Unavailable, "")(err)
	made := func() bool { return api.Connection().GetState() == connectivity.Ready } //nolint:staticcheck // there is only one
	if unserved && c.api == api && made() && c.detach() {
		c.api = nil
		time.AfterFunc(c.timeout, func() { _ = api.Close() })
	}
	return err
}
