package mysql

import (
	"cmp"
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/leaderrun/leaderrun/locks/kit/bounded"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
)

// maxMessage is the longest message, in bytes, that is sent. It is less than any server's
// limit, and far more than we need.
const maxMessage = 64 << 10

var (
	errReadOnly = errors.New("the server refuses writes: read_only is on, or innodb_read_only")
	errEngine   = errors.New("the table has another engine than InnoDB")
)

// A connector makes connections to the first of some hosts that can keep locks. It implements
// [driver.Connector].
type connector struct {
	settings *settings
	hosts    []string
	search   hosts.Search
	timeout  time.Duration
	lenient  bool                      // the host need not be able to keep locks
	secured  func(tls.ConnectionState) // called for each connection with TLS; may be nil
}

// Driver implements [driver.Connector].
func (c *connector) Driver() driver.Driver { return mysql.MySQLDriver{} }

// Connect implements [driver.Connector].
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	var last error
	for ctx, to := range c.search.Each(ctx, c.hosts, timeLeft(ctx, c.timeout)) {
		conn, err := c.dial(ctx, to)
		if err == nil {
			c.search.Found(to)
			return conn, nil
		}
		last = err
	}
	return nil, &connectError{last}
}

func (c *connector) dial(ctx context.Context, host hosts.Address) (driver.Conn, error) {
	m, err := mysql.NewConnector(c.config(host))
	if err != nil {
		return nil, err
	}
	conn, err := m.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.prepare(ctx, conn); err != nil {
		_ = conn.Close() // nothing is under way
		return nil, err
	}
	return conn, nil
}

// config returns the driver's configuration for a new connection. It has no timeouts, because
// each request has a context, nor a character set, because no text is sent.
func (c *connector) config(host hosts.Address) *mysql.Config {
	to := mysql.NewConfig()
	to.Net, to.Addr = "tcp", host.Addr
	if strings.HasPrefix(host.Addr, "/") {
		to.Net = "unix"
	}
	to.DialFunc = bounded.Dialer(new(net.Dialer).DialContext)
	to.User, to.Passwd, to.DBName = c.settings.user, c.settings.secret(), c.settings.database
	if to.Net != "unix" {
		to.ServerPubKey = c.settings.serverKey
	}
	to.MultiStatements, to.MaxAllowedPacket = true, maxMessage
	to.ConnectionAttributes = strings.TrimSpace("program_name:leaderrun " + c.settings.lock)
	to.Logger = &mysql.NopLogger{} // the driver also returns what it would log
	if c.settings.tls != nil && to.Net != "unix" {
		to.TLS, to.AllowFallbackToPlaintext = c.settings.tls.Config(), c.settings.fallback
		name, _, _ := net.SplitHostPort(host.Server)
		to.TLS.ServerName = cmp.Or(to.TLS.ServerName, name)
		if c.secured != nil {
			to.TLS.VerifyConnection = func(s tls.ConnectionState) error { c.secured(s); return nil }
		}
	}
	return to
}

// In a Galera cluster, galeraSQL makes each statement wait until this node has what the others
// have acknowledged, and refuses to read from a node that has lost them. Otherwise a node may
// lag. Other servers do not know these variables. @leaderrun_alone notes that there is no cluster.
const (
	galeraSQL = "SET SESSION wsrep_sync_wait = 7, wsrep_dirty_reads = 0, @leaderrun_alone = NOT @@global.wsrep_on"
	aloneSQL  = "SET @leaderrun_alone = 1"
	checkSQL  = "SELECT " + readOnly + ", (SELECT engine FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '" + table + "')"
)

// prepare returns an error if the server cannot keep locks.
func (c *connector) prepare(ctx context.Context, conn driver.Conn) error {
	_, err := first(ctx, conn, galeraSQL)
	if number(err) == unknownVariable {
		_, err = first(ctx, conn, aloneSQL)
	}
	if err != nil || c.lenient {
		return err
	}
	row, err := first(ctx, conn, checkSQL)
	switch {
	case err != nil:
		return err
	case !mayWrite(row[0]):
		return errReadOnly
	case row[1] != "" && !strings.EqualFold(row[1], "InnoDB"):
		return errEngine
	}
	return nil
}

// mayWrite reports whether a server with this readOnly accepts writes.
func mayWrite(readOnly string) bool { return strings.ReplaceAll(readOnly, "OFF", "0") == "00" }

// first returns the first row of a statement's result. NULL becomes "".
func first(ctx context.Context, conn driver.Conn, statement string) ([]string, error) {
	rows, err := conn.(driver.QueryerContext).QueryContext(ctx, statement, nil) //nolint:forcetypeassert // the driver says so
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	values := make([]driver.Value, len(rows.Columns()))
	if len(values) == 0 {
		return nil, nil
	}
	if err := rows.Next(values); err != nil {
		return nil, err
	}
	var all []string
	for _, v := range values {
		text, _ := v.([]byte)
		all = append(all, string(text))
	}
	return all, nil
}

// timeLeft returns how long a request may take: until ctx ends, at most d.
func timeLeft(ctx context.Context, d time.Duration) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return max(min(time.Until(end), d), time.Millisecond)
	}
	return d
}
