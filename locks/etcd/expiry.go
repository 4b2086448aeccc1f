package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"sync"
	"time"
)

// certificates notes on which certificates a connection depends.
type certificates struct {
	mu      sync.Mutex
	version string    // of TLS; "": it is not spoken, or not yet
	theirs  time.Time // when the first of the server's ends, with those that vouch for it
	ours    time.Time // the same of ours; zero: the server did not ask for one
}

// observe has a configuration note what it meets.
func (n *certificates) observe(c *tls.Config) {
	if get := c.GetClientCertificate; get != nil {
		c.GetClientCertificate = func(r *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			cert, err := get(r)
			if err == nil {
				n.noteOurs(cert)
			}
			return cert, err
		}
	}
	c.VerifyConnection = n.noteTheirs
}

func (n *certificates) noteOurs(c *tls.Certificate) {
	var chain []*x509.Certificate
	for _, der := range c.Certificate {
		if cert, err := x509.ParseCertificate(der); err == nil {
			chain = append(chain, cert)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ours = firstEnd(chain)
}

// noteTheirs is called when the certificates were found valid. Of several chains
// one is enough. Without verification there is none: the connection depends on none.
func (n *certificates) noteTheirs(s tls.ConnectionState) error {
	var end time.Time
	for _, chain := range s.VerifiedChains {
		if e := firstEnd(chain); e.After(end) {
			end = e
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.version, n.theirs = strings.TrimPrefix(tls.VersionName(s.Version), "TLS "), end
	return nil
}

// seen returns the version of TLS, and when the first certificate ends.
func (n *certificates) seen() (version string, end time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.version, earlier(n.theirs, n.ours)
}

func firstEnd(chain []*x509.Certificate) (end time.Time) {
	for _, c := range chain {
		end = earlier(end, c.NotAfter)
	}
	return end
}

// earlier returns the earlier of two moments. The zero one is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
