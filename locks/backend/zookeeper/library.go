package zookeeper

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks/kit/bounded"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// dialServer connects to a server, with TLS if there are certificates.
func dialServer(ctx context.Context, e endpoint, certs *certificates) (net.Conn, error) {
	if e.err != nil {
		return nil, e.err
	}
	conn, err := bounded.Dialer(new(net.Dialer).DialContext)(ctx, "tcp", e.addr)
	if err != nil || certs == nil {
		return conn, err
	}
	secure := tls.Client(conn, certs.config(e.server))
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return secure, nil
}

// connectLibrary makes the library use c for all its connections.
func connectLibrary(c *connector, workers *workers.Workers) error {
	conn, events, err := zk.Connect(c.rotation.servers, max(c.info.timeout, time.Millisecond), func(z *zk.Conn) { c.library = z },
		zk.WithDialer(c.dial), zk.WithHostProvider(c), zk.WithLogger(logger{c.log}), zk.WithLogInfo(false), zk.WithMaxConnBufferSize(maxRequest))
	if err != nil {
		return err
	}
	end := func(context.Context) {
		<-c.done
		// There are no more connections, so the library soon fails all requests. If it
		// were closed before, it would still return an answer that it is reading.
		// Close may wait a second for an answer on a closed connection. Nobody needs to
		// wait for either.
		go func() {
			c.asking.Lock()
			defer c.asking.Unlock()
			conn.Close()
		}()
		for range events { // the channel is closed when the library has ended
		}
	}
	if err = workers.Go(end); err != nil {
		c.end(err)
		end(context.Background())
	}
	return err
}

// limit bounds what the library reads at once. The library allocates that much at the
// beginning of each connection. Only the goroutine in which the library reads may call it.
func (c *connector) limit(n int) { zk.WithMaxBufferSize(n)(c.library) }

// Init implements zk.HostProvider.
func (c *connector) Init([]string) error { return nil }

// Len implements zk.HostProvider.
func (c *connector) Len() int { return len(c.rotation.servers) }

// Next implements zk.HostProvider: dial chooses among all servers. When retryStart says
// that all were tried, the library pauses, and checks whether it was closed.
func (c *connector) Next() (server string, retryStart bool) {
	return strings.Join(c.rotation.servers, ","), c.endCause() != nil
}

// Connected implements zk.HostProvider.
func (c *connector) Connected() {}

// A logger writes the library's messages to our log.
type logger struct{ log *slog.Logger }

func (l logger) Printf(format string, args ...any) {
	l.log.Debug("message of the ZooKeeper library", "text", fmt.Sprintf(format, args...))
}

var _ zk.HostProvider = (*connector)(nil)
