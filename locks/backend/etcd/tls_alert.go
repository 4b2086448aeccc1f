package etcd

import (
	"context"
	"crypto/tls"
	"net"

	"google.golang.org/grpc/credentials"

	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
)

// alertCredentials are TLS credentials whose connections return the alert that ended them.
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

// Write returns the alert if it fails because of one.
func (c alertConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err != nil {
		err = tlsfiles.Alert(c.Conn, err)
	}
	return n, err
}
