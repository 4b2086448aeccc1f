package zookeeper

import (
	"bytes"
	"crypto/tls"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
)

// certificates make the configuration of each connection. A connection resumes the
// TLS session of an earlier one, which saves a renewal the signatures, unless our
// certificate has changed since. The server's certificate and its CA are still
// verified each time (tls.Conn.loadSession).
type certificates struct {
	*tlsfiles.Source

	mu       sync.Mutex
	own      []byte // our certificate; nil: none
	sessions tls.ClientSessionCache
}

// newCertificates returns nil for connections without TLS.
func newCertificates(u *url.URL, getenv func(string) string) (*certificates, error) {
	s, err := tlsfiles.Parse(u, getenv, files)
	if err != nil || !s.On() {
		return nil, err
	}
	source, err := s.Open()
	return &certificates{Source: source, sessions: tls.NewLRUClientSessionCache(0)}, err
}

// config returns the configuration for a new connection to a server.
func (c *certificates) config(server string) *tls.Config {
	config := c.Config()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(server)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if own := tlsfiles.Own(config); own != nil && !bytes.Equal(own.Certificate[0], c.own) {
		c.own, c.sessions = own.Certificate[0], tls.NewLRUClientSessionCache(0)
	}
	config.ClientSessionCache = c.sessions
	return config
}

// security returns [tlsfiles.Security] of a connection, or zero values without TLS.
func security(c net.Conn, certs *certificates) (version string, expires time.Time) {
	if secure, ok := c.(*tls.Conn); ok {
		return tlsfiles.Security(secure.ConnectionState(), tlsfiles.Own(certs.Config()))
	}
	return "", expires
}
