package zookeeper

import (
	"crypto/tls"
	"net"
	"net/url"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
)

// certificates make the configuration of each connection.
type certificates struct{ *tlsfiles.Source }

// newCertificates returns nil for connections without TLS.
func newCertificates(u *url.URL, getenv func(string) string) (*certificates, error) {
	s, err := tlsfiles.Parse(u, getenv, files)
	if err != nil || !s.On() {
		return nil, err
	}
	source, err := s.Open()
	return &certificates{source}, err
}

// config returns the configuration for a new connection to a server.
func (c *certificates) config(server string) *tls.Config {
	config := c.Resuming()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(server)
	}
	return config
}

// security returns [tlsfiles.Security] of a connection, or zero values without TLS.
func security(c net.Conn, certs *certificates) (version string, expires time.Time) {
	if secure, ok := c.(*tls.Conn); ok {
		return tlsfiles.Security(secure.ConnectionState(), tlsfiles.Own(certs.Config()))
	}
	return "", expires
}
