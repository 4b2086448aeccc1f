package etcd

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"

	"google.golang.org/grpc/credentials"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
)

// newTLS returns nil for connections without TLS. The parameter tls decides, then the
// scheme of the servers' URLs, and then, as in etcdctl, whether there is any setting that
// only makes sense with TLS.
func newTLS(u *url.URL, getenv func(string) string, scheme string) (*tlsfiles.Source, error) {
	s, err := tlsfiles.Parse(u, getenv, files)
	if err != nil {
		return nil, err
	}
	if s.Insecure, err = locks.Boolean(getenv, "ETCDCTL_INSECURE_SKIP_TLS_VERIFY", false); err != nil {
		return nil, err
	}
	plain, err := locks.Boolean(getenv, "ETCDCTL_INSECURE_TRANSPORT", true)
	if err != nil {
		return nil, err
	}
	on := s.On() || !plain && s.Explicit == ""
	if scheme != "" && s.Explicit == "" {
		on = scheme == "https"
	}
	if !on {
		return nil, nil
	}
	return s.Open()
}

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
