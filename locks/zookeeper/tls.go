package zookeeper

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/tlsfiles"
)

// certificates make the configuration of each connection. A connection resumes the
// TLS session of one before, which saves a renewal the signatures; but not one in
// which we had another certificate. That a server's certificate is still good, and
// its CA one of ours, is verified anew (tls.Conn.loadSession).
type certificates struct {
	*tlsfiles.Source

	mu       sync.Mutex
	own      []byte // ours; nil: we have none
	sessions tls.ClientSessionCache
}

// newCertificates is nil unless something was said that only makes sense with TLS.
func newCertificates(u *url.URL, getenv func(string) string) (*certificates, error) {
	explicit, serverName := u.Query().Get("tls"), u.Query().Get("servername")
	var f tlsfiles.Files
	f.CA, f.CAName = setting(u, getenv, "cacert", "LEADERRUN_ZK_CACERT")
	f.Cert, f.CertName = setting(u, getenv, "cert", "LEADERRUN_ZK_CERT")
	f.Key, _ = setting(u, getenv, "key", "LEADERRUN_ZK_KEY")
	switch {
	case explicit != "" && explicit != "true" && explicit != "false":
		return nil, usage("zk parameter tls=%q is neither true nor false", locks.Abbreviate(explicit))
	case (f.Cert == "") != (f.Key == ""):
		return nil, usage("a zk client certificate needs both cert and key (LEADERRUN_ZK_CERT and LEADERRUN_ZK_KEY)")
	case explicit == "false", explicit == "" && f.CA == "" && f.Cert == "" && serverName == "":
		return nil, nil
	}
	source, err := tlsfiles.Open(&tls.Config{ServerName: serverName, MinVersion: tls.VersionTLS12}, f)
	if err != nil {
		return nil, usage("%v", err)
	}
	return &certificates{Source: source, sessions: tls.NewLRUClientSessionCache(0)}, nil
}

// config returns the configuration for a new connection to a server.
func (c *certificates) config(server string) *tls.Config {
	config := c.Config()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(server)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if own := ownCertificate(config); own != nil && !bytes.Equal(own.Certificate[0], c.own) {
		c.own, c.sessions = own.Certificate[0], tls.NewLRUClientSessionCache(0)
	}
	config.ClientSessionCache = c.sessions
	return config
}

// ownCertificate is nil if there is none.
func ownCertificate(config *tls.Config) *tls.Certificate {
	if config.GetClientCertificate == nil {
		return nil
	}
	own, err := config.GetClientCertificate(nil)
	if err != nil {
		return nil
	}
	return own
}

// security tells how a connection is encrypted, "1.3" or "" for not at all, and
// when the first of the certificates ends that it takes.
func security(c net.Conn, certs *certificates) (version string, expires time.Time) {
	secure, ok := c.(*tls.Conn)
	if !ok {
		return "", time.Time{}
	}
	state := secure.ConnectionState()
	var all []*x509.Certificate
	if len(state.VerifiedChains) > 0 {
		all = state.VerifiedChains[0]
	}
	if own := ownCertificate(certs.Config()); own != nil && own.Leaf != nil {
		all = append(all[:len(all):len(all)], own.Leaf)
	}
	for _, cert := range all {
		if expires.IsZero() || cert.NotAfter.Before(expires) {
			expires = cert.NotAfter
		}
	}
	return strings.TrimPrefix(tls.VersionName(state.Version), "TLS "), expires
}
