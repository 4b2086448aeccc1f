package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"google.golang.org/grpc/credentials"
)

// alertTimeout bounds the reading of an alert that has already arrived.
const alertTimeout = 100 * time.Millisecond

// alertCredentials are TLS credentials whose connections return the alert that ended them.
// In TLS 1.3, a server refuses a client's certificate after the handshake is complete
// for the client: it sends an alert and closes the connection. A client that is writing at
// that moment sees only a broken pipe.
//
// Each connection has its own configuration, because files may have been replaced.
type alertCredentials struct {
	credentials.TransportCredentials // for the methods that need no connection
	config                           func() *tls.Config
}

func newAlertCredentials(c *tls.Config, config func() *tls.Config) credentials.TransportCredentials {
	return alertCredentials{credentials.NewTLS(c), config}
}

// ClientHandshake implements credentials.TransportCredentials.
func (a alertCredentials) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := credentials.NewTLS(a.config()).ClientHandshake(ctx, authority, raw)
	if err != nil {
		return nil, nil, err
	}
	return alertConn{conn}, info, nil
}

// Clone implements credentials.TransportCredentials.
func (a alertCredentials) Clone() credentials.TransportCredentials {
	return alertCredentials{a.TransportCredentials.Clone(), a.config}
}

type alertConn struct{ net.Conn }

// Write looks for an alert when it fails. TLS keeps an alert, so it does not matter who
// reads it first.
func (c alertConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err == nil {
		return n, nil
	}
	_ = c.SetReadDeadline(time.Now().Add(alertTimeout))
	_, alert := c.Read(make([]byte, 1))
	if op, ok := errors.AsType[*net.OpError](alert); ok && op.Op == "remote error" { // as crypto/tls calls an alert
		return n, alert
	}
	return n, err
}
