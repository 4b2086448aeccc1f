// Package tlsfiles reads certificates from files that may be replaced while a program runs:
// a job may run for longer than a certificate is valid, or a CA is in use.
package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/reload"
)

// A Source makes the configuration of each connection from the present content of the files.
type Source struct {
	Log *slog.Logger // for files that can no longer be read; may be nil

	base  *tls.Config
	roots *reload.Value[*x509.CertPool]   // nil: the system's
	pair  *reload.Value[*tls.Certificate] // nil: we have none

	mu       sync.Mutex
	own      *tls.Certificate // that of the sessions; nil: none
	sessions tls.ClientSessionCache
}

// Open reads the files for the first time. Errors wrap locks.ErrUsage.
func (s *Settings) Open() (*Source, error) {
	roots, err := reload.Open(s.caName, Authorities, s.CA)
	if err != nil {
		return nil, locks.Usagef("%v", err)
	}
	pair, err := reload.Open(s.certName, keyPair, s.Cert, s.key)
	if err != nil {
		return nil, locks.Usagef("%v", err)
	}
	base := &tls.Config{ServerName: s.ServerName, MinVersion: tls.VersionTLS12, InsecureSkipVerify: s.Insecure} //nolint:gosec // only if the user asked for it
	return &Source{base: base, roots: roots, pair: pair}, nil
}

// Authorities parses a file of CAs, for package reload.
func Authorities(contents [][]byte) (*x509.CertPool, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(contents[0]) {
		return nil, errors.New("no certificate")
	}
	return roots, nil
}

func keyPair(contents [][]byte) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(contents[0], contents[1])
	return &pair, err
}

// Config returns the configuration for a new connection.
func (s *Source) Config() *tls.Config {
	c := s.base.Clone()
	c.RootCAs = s.roots.Now(s.Log)
	if pair := s.pair.Now(s.Log); pair != nil {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair, nil }
	}
	return c
}

// Resuming is Config, and lets the connection resume the session of an earlier one, which
// saves round trips and signatures, unless our certificate has changed since. The server's
// certificate and its CA are still verified each time (tls.Conn.loadSession).
func (s *Source) Resuming() *tls.Config {
	c := s.Config()
	own := Own(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions == nil || own != s.own {
		s.own, s.sessions = own, tls.NewLRUClientSessionCache(0)
	}
	c.ClientSessionCache = s.sessions
	return c
}

// Own returns our certificate in a configuration, or nil if there is none.
func Own(c *tls.Config) *tls.Certificate {
	if c.GetClientCertificate == nil {
		return nil
	}
	own, _ := c.GetClientCertificate(nil) // Config made this function, which never fails
	return own
}
