// Package bounded limits what a server can make us read. Libraries collect an answer before
// they pass it on, and most do so whatever its length. This is a package of its own because
// the backends that need it share nothing else.
//
// Connections of gRPC do not need it, and it would not help: what is read there is bounded
// by the windows of HTTP/2, which we write to extend, and by the limit of a message.
package bounded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
)

// limit is the most that is received between two of our writes, in bytes. It is more than
// any answer has that we ask for, so a server that sends more does not keep to its protocol.
const limit = 32 << 20

var errTooLong = fmt.Errorf("the server has sent more than %d MiB without being asked for more", limit>>20)

// A Conn is a connection that fails once a server has sent more than a limit since the last
// write.
type Conn struct {
	net.Conn
	received atomic.Int64
}

// New returns a Conn above another connection, which must be below TLS, if that is spoken.
func New(c net.Conn) *Conn { return &Conn{Conn: c} }

// A Dial makes connections, as [net.Dialer.DialContext] does.
type Dial func(ctx context.Context, network, addr string) (net.Conn, error)

// Dialer returns a Dial whose connections are Conns.
func Dialer(dial Dial) Dial {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return New(c), nil
	}
}

// Read implements [net.Conn].
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.received.Add(int64(n)) > limit {
		_ = c.Close()
		return 0, errTooLong
	}
	return n, err
}

// Write implements [net.Conn].
func (c *Conn) Write(p []byte) (int, error) {
	c.Forget()
	return c.Conn.Write(p)
}

// Forget begins to count anew. A client that only receives, such as one that waits for
// notifications, calls it when it keeps nothing of what it has received.
func (c *Conn) Forget() { c.received.Store(0) }

// SyscallConn implements [syscall.Conn]: drivers look at the socket before they use an idle
// connection again.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	if s, ok := c.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
