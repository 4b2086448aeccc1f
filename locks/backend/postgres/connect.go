package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leaderrun/leaderrun/locks/kit/bounded"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
)

// A conn is one connection. One goroutine at a time uses it.
type conn struct {
	*pgconn.PgConn
	pooled    bool   // a pooler in between shares the server's connections
	listening bool   // it receives notifications
	warning   string // the server's last one
	tls       *tls.Config
	received  *bounded.Conn // below TLS
	cleartext bool          // the password was sent in clear text

	stopReading context.CancelFunc // ends what readIdle has started
	readingDone chan struct{}      // closed when that has ended
}

var (
	errStandby  = errors.New("the server is a standby")
	errReadOnly = errors.New("the server refuses writes: default_transaction_read_only is on")
	errClosed   = errors.New("the handle was closed")
	errUnread   = errors.New("cannot read the settings again")
)

// A pool keeps one connection, because each costs the server a process. Requests that
// overlap get others, which are closed after the request. While the kept connection is
// idle, the pool reads from it: so notifications arrive, and the pool notices the end of
// the connection before it sends a request on it.
type pool struct {
	settings *settings
	search   hosts.Search
	timeout  time.Duration
	log      *slog.Logger         // nil discards
	warned   sync.Once            // that a password was sent in clear text
	notified func(payload string) // called for each notification
	ctx      context.Context      // ends with the pool
	end      context.CancelFunc

	mu   sync.Mutex
	idle *conn
}

// get returns the idle connection, or a new one.
func (p *pool) get(ctx context.Context) (*conn, error) {
	p.mu.Lock()
	c := p.idle
	p.idle = nil
	p.mu.Unlock()
	if c != nil {
		c.stopReading()
		<-c.readingDone
		if !c.IsClosed() {
			return c, nil
		}
	}
	return p.dial(ctx)
}

// put returns a connection to the pool, which prefers to keep one that listens.
func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case c.IsClosed() || p.ctx.Err() != nil || p.idle != nil && (p.idle.listening || !c.listening):
		c.close()
		return
	case p.idle != nil:
		p.idle.stopReading()
		<-p.idle.readingDone
		p.idle.close()
	}
	p.idle = c
	p.readIdle(c)
}

// readIdle reads from a connection until get or Close takes it.
func (p *pool) readIdle(c *conn) {
	ctx, stop := context.WithCancel(p.ctx)
	c.stopReading, c.readingDone = stop, make(chan struct{})
	done := c.readingDone
	go func() {
		defer close(done)
		for c.WaitForNotification(ctx) == nil { // the driver calls notified, and keeps nothing
			c.received.Forget()
		}
		if c.IsClosed() {
			c.close()
		}
	}()
}

// close ends what the pool reads in the background, and its idle connection.
func (p *pool) close() {
	p.end()
	p.rest()
}

// rest closes the idle connection.
func (p *pool) rest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idle != nil {
		p.idle.stopReading()
		<-p.idle.readingDone
		p.idle.close()
		p.idle = nil
	}
}

// close ends the session, but waits only briefly until the message to the server is sent.
func (c *conn) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = c.Close(ctx)     // no request is under way
	_ = c.Conn().Close() // otherwise the driver drains a failed connection for 15 s
}

// dial connects to the first server that accepts writes.
func (p *pool) dial(ctx context.Context) (*conn, error) {
	return p.connect(ctx, p.settings.hosts, func(ctx context.Context, c *conn) error { return c.check(ctx) })
}

// connect connects to the first of some hosts that check accepts. Each has its share of the
// time, or less if connect_timeout says so.
func (p *pool) connect(ctx context.Context, servers []string, check func(context.Context, *conn) error) (*conn, error) {
	if p.ctx.Err() != nil {
		return nil, errClosed
	}
	config, err := p.settings.config()
	if err != nil { // it was valid before: a file is being replaced, or cannot be opened now
		return nil, fmt.Errorf("%w: %w", errUnread, err)
	}
	var failed []error
	for ctx, to := range p.search.Each(ctx, servers, p.timeLeft(ctx)) {
		c, err := p.connectTo(ctx, config.Copy(), to, check)
		if err == nil {
			p.search.Found(to)
			return c, nil
		}
		if failed = append(failed, err); slices.Contains(everywhere(), state(err)) {
			break
		}
	}
	return nil, errors.Join(failed...)
}

// everywhere are the SQLSTATEs of a login that the other servers would refuse, too.
func everywhere() []string { return []string{"28P01", "3D000", "42501"} }

// connectTo connects to one address.
func (p *pool) connectTo(ctx context.Context, config *pgconn.Config, to hosts.Address, check func(context.Context, *conn) error) (*conn, error) {
	keepHost(config, to.Server)
	config.LookupFunc = func(context.Context, string) ([]string, error) { return []string{to.Addr}, nil }
	c := &conn{tls: config.TLSConfig}
	// The driver would dial once more to cancel a statement that we no longer wait for.
	// The server does that itself: see prepareSQL.
	dial := config.DialFunc
	var connected atomic.Bool
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if connected.Load() {
			return nil, errClosed
		}
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		c.received = bounded.New(conn)
		return c.received, nil
	}
	watchPassword(config, func(addr string) {
		c.cleartext = true
		p.warned.Do(func() {
			if p.log != nil {
				p.log.Warn("the password goes over the network unencrypted; use sslmode=verify-full, or require_auth=scram-sha-256", "server", addr)
			}
		})
	})
	config.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { p.notified(n.Payload) }
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if n.Routine == "SyncRepWaitForLSN" { // others, as of a trigger, say nothing about the commit
			c.warning = n.Message
		}
	}
	config.ValidateConnect = func(ctx context.Context, pg *pgconn.PgConn) error {
		c.PgConn = pg
		return check(ctx, c)
	}
	pg, err := pgconn.ConnectConfig(ctx, config)
	c.PgConn = pg
	connected.Store(true)
	return c, err
}

// keepHost removes all other hosts from a configuration. A host is there twice if it is to be
// tried with TLS and without.
func keepHost(c *pgconn.Config, host string) {
	all := append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}}, c.Fallbacks...)
	all = slices.DeleteFunc(all, func(f *pgconn.FallbackConfig) bool { return address(f.Host, f.Port) != host })
	if len(all) > 0 {
		c.Host, c.Port, c.TLSConfig, c.Fallbacks = all[0].Host, all[0].Port, all[0].TLSConfig, all[1:]
	}
}

// timeLeft returns how long a request may take: until ctx ends, at most p.timeout.
func (p *pool) timeLeft(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return max(min(time.Until(end), p.timeout), time.Millisecond)
	}
	return p.timeout
}

// check returns an error if the server cannot keep locks, and finds out whether there is a
// pooler: a pooler reports another process id on the server than the server does.
func (c *conn) check(ctx context.Context) error {
	results, err := c.Exec(ctx, "SELECT pg_is_in_recovery(), current_setting('transaction_read_only'), pg_backend_pid()").ReadAll()
	if err != nil {
		return err
	}
	row := results[0].Rows[0]
	c.pooled = string(row[2]) != strconv.FormatUint(uint64(c.PID()), 10)
	switch {
	case string(row[0]) == "t":
		return errStandby
	case string(row[1]) == "on":
		return errReadOnly
	}
	return nil
}

// A warnedError says that a write was acknowledged with a warning, for example because
// somebody has cancelled the wait for a synchronous standby.
type warnedError struct{ warning string }

func (e *warnedError) Error() string { return fmt.Sprintf("written, but: %s", e.warning) }
