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

	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// dialServer connects to a server, with TLS if there are certificates.
func dialServer(ctx context.Context, e endpoint, certs *certificates) (net.Conn, error) {
	if e.err != nil {
		return nil, e.err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", e.addr)
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

// connectLibrary has the library use a link for all its connections.
func connectLibrary(l *link, workers *workers.Workers) error {
	conn, events, err := zk.Connect(l.tour.servers, max(l.ticket.timeout, time.Millisecond), func(c *zk.Conn) { l.library = c },
		zk.WithDialer(l.dial), zk.WithHostProvider(l), zk.WithLogger(logger{l.log}), zk.WithLogInfo(false), zk.WithMaxConnBufferSize(maxRequest))
	if err != nil {
		return err
	}
	end := func(context.Context) {
		<-l.done
		// There are no more connections, and so the library soon fails all that it is
		// asked. If it were closed before that, it would return what it is just reading
		// from the server. Close may wait for a second, for an answer from a connection
		// that is gone. Nobody needs to wait for either.
		go func() {
			l.asking.Lock()
			defer l.asking.Unlock()
			conn.Close()
		}()
		for range events { // it is closed when the library has ended
		}
	}
	if err = workers.Go(end); err != nil {
		l.end(err)
		end(context.Background())
	}
	return err
}

// limit bounds what the library reads at once. It takes as much memory at the
// beginning of each connection. To be called where the library reads.
func (l *link) limit(n int) { zk.WithMaxBufferSize(n)(l.library) }

// Init implements zk.HostProvider.
func (l *link) Init([]string) error { return nil }

// Len implements zk.HostProvider.
func (l *link) Len() int { return len(l.tour.servers) }

// Next implements zk.HostProvider: dial chooses among all servers. Once these are
// said to have been tried, the library pauses, and looks whether it has been closed.
func (l *link) Next() (server string, retryStart bool) {
	return strings.Join(l.tour.servers, ","), l.whyOver() != nil
}

// Connected implements zk.HostProvider.
func (l *link) Connected() {}

// A logger is the library's way to our log.
type logger struct{ log *slog.Logger }

func (l logger) Printf(format string, args ...any) {
	l.log.Debug("the ZooKeeper library says", "text", fmt.Sprintf(format, args...))
}

var _ zk.HostProvider = (*link)(nil)
