package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A conn is one connection. Whoever has it is alone with it.
type conn struct {
	*pgconn.PgConn
	pooled    bool   // something between us and the server shares its connections
	listening bool   // for what is notified
	warning   string // the last that the server has given
	tls       *tls.Config

	stop   context.CancelFunc // ends the rest
	rested chan struct{}      // closed when the rest is over
}

var (
	errStandby  = errors.New("the server is a standby, which follows another")
	errReadOnly = errors.New("the server refuses to write: default_transaction_read_only is on")
	errClosed   = errors.New("the handle was closed")
)

// A pool has one connection that is kept, as each costs the server a process, and for
// requests that overlap others, which end with them. While the one that is kept rests, it
// is read from: so notifications arrive, and that it has ended is known before a request
// is sent on it in vain.
type pool struct {
	s       *settings
	timeout time.Duration
	heard   func(payload string) // of a notification
	ctx     context.Context      // ends with the pool
	end     context.CancelFunc

	mu   sync.Mutex
	idle *conn
}

// get returns a connection, and makes one if there is none.
func (p *pool) get(ctx context.Context) (*conn, error) {
	p.mu.Lock()
	c := p.idle
	p.idle = nil
	p.mu.Unlock()
	if c != nil {
		c.stop()
		<-c.rested
		if !c.IsClosed() {
			return c, nil
		}
	}
	return p.dial(ctx)
}

// put gives a connection back. One that listens is kept before one that does not.
func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case c.IsClosed() || p.ctx.Err() != nil || p.idle != nil && (p.idle.listening || !c.listening):
		c.close()
		return
	case p.idle != nil:
		p.idle.stop()
		<-p.idle.rested
		p.idle.close()
	}
	p.idle = c
	p.rest(c)
}

// rest reads from a connection until get or Close takes it.
func (p *pool) rest(c *conn) {
	ctx, stop := context.WithCancel(p.ctx)
	c.stop, c.rested = stop, make(chan struct{})
	rested := c.rested
	go func() {
		defer close(rested)
		for c.WaitForNotification(ctx) == nil { // the driver hands it to heard
		}
		if c.IsClosed() {
			c.close()
		}
	}()
}

// Close implements [caslease.Store].
func (p *pool) Close() error {
	p.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idle != nil {
		<-p.idle.rested
		p.idle.close()
		p.idle = nil
	}
	return nil
}

// close tells the server good-bye, but does not wait until it can be told.
func (c *conn) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = c.Close(ctx)     // there is nothing to lose
	_ = c.Conn().Close() // one that has failed the driver would drain for 15 s
}

// dial connects to the first server that can be written to.
func (p *pool) dial(ctx context.Context) (*conn, error) {
	return p.connect(ctx, p.s.hosts, func(ctx context.Context, c *conn) error { return c.check(ctx) })
}

// connect makes a connection to the first of some hosts that a check accepts. Each has its
// share of the time.
func (p *pool) connect(ctx context.Context, hosts []string, check func(context.Context, *conn) error) (*conn, error) {
	if p.ctx.Err() != nil {
		return nil, errClosed
	}
	config, err := p.s.config()
	if err != nil {
		return nil, err
	}
	narrow(config, hosts)
	c := &conn{tls: config.TLSConfig}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = p.left(ctx) / time.Duration(len(hosts))
	}
	// The driver would use this once more, to have cancelled what we do not wait for any
	// longer. The server does that by itself: see guard.
	dial := config.DialFunc
	var connected atomic.Bool
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if connected.Load() {
			return nil, errClosed
		}
		return dial(ctx, network, addr)
	}
	config.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { p.heard(n.Payload) }
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if n.SeverityUnlocalized == "WARNING" {
			c.warning = n.Message
		}
	}
	config.ValidateConnect = func(ctx context.Context, pg *pgconn.PgConn) error {
		c.PgConn = pg
		return check(ctx, c)
	}
	c.PgConn, err = pgconn.ConnectConfig(ctx, config)
	connected.Store(true)
	return c, err
}

// narrow leaves only some of the hosts in a configuration. One is there twice if it is to
// be tried with TLS and without.
func narrow(c *pgconn.Config, hosts []string) {
	all := append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}}, c.Fallbacks...)
	all = slices.DeleteFunc(all, func(f *pgconn.FallbackConfig) bool { return !slices.Contains(hosts, address(f.Host, f.Port)) })
	if len(all) > 0 {
		c.Host, c.Port, c.TLSConfig, c.Fallbacks = all[0].Host, all[0].Port, all[0].TLSConfig, all[1:]
	}
}

// left is how much time a context leaves.
func (p *pool) left(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return max(min(time.Until(end), p.timeout), time.Millisecond)
	}
	return p.timeout
}

// check refuses a server that keeps no locks, and finds out whether there is a pooler:
// it has its own idea of the number of our process on the server.
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

// A warnedError says that a write was acknowledged with a warning: as when somebody has
// cancelled the wait for the standby that was to have it, too.
type warnedError struct{ warning string }

func (e *warnedError) Error() string { return fmt.Sprintf("written, but: %s", e.warning) }
