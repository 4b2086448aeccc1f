package etcd

import (
	"crypto/tls"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
)

// certificates collects the certificates that a connection depends on.
type certificates struct {
	mu    sync.Mutex
	state tls.ConnectionState
	ours  *tls.Certificate // nil: the server did not ask for one
}

// observe makes connections with a configuration record their certificates.
func (n *certificates) observe(c *tls.Config) {
	if get := c.GetClientCertificate; get != nil {
		c.GetClientCertificate = func(r *tls.CertificateRequestInfo) (cert *tls.Certificate, err error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.ours, err = get(r)
			return n.ours, err
		}
	}
	c.VerifyConnection = func(s tls.ConnectionState) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.state = s
		return nil
	}
}

// seen returns the version of TLS, or "" without TLS, and when the first certificate
// expires.
func (n *certificates) seen() (version string, end time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state.Version == 0 {
		return "", end
	}
	return tlsfiles.Security(n.state, n.ours)
}
