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

// alerting are TLS credentials whose connections tell why they broke. In TLS
// 1.3 a server refuses a client's certificate after the handshake is complete
// for the client: it sends an alert and closes. If the client is writing at
// that moment, all that it sees is a broken pipe.
//
// Each connection has a configuration of its own, as files may have been replaced.
type alerting struct {
	credentials.TransportCredentials // what is asked before there is a connection
	config                           func() *tls.Config
}

func newAlerting(c *tls.Config, config func() *tls.Config) credentials.TransportCredentials {
	return alerting{credentials.NewTLS(c), config}
}

// ClientHandshake implements credentials.TransportCredentials.
func (a alerting) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := credentials.NewTLS(a.config()).ClientHandshake(ctx, authority, raw)
	if err != nil {
		return nil, nil, err
	}
	return alertConn{conn}, info, nil
}

// Clone implements credentials.TransportCredentials.
func (a alerting) Clone() credentials.TransportCredentials {
	return alerting{a.TransportCredentials.Clone(), a.config}
}

type alertConn struct{ net.Conn }

// Write looks for an alert when it fails. TLS keeps one, so that it does not
// matter who reads it first.
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
