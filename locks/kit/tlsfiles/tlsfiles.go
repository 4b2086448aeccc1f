// Package tlsfiles reads certificates from files that may be replaced while a program
// runs: a job may run for longer than a certificate is valid, or a CA in use.
package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/reload"
)

// A Source makes a configuration for each connection, of what the files say then.
type Source struct {
	Log *slog.Logger // told when files cannot be read any more; nil: nobody is

	base  *tls.Config
	roots *reload.Value[*x509.CertPool]   // nil: those of the system
	pair  *reload.Value[*tls.Certificate] // nil: we have none
}

// Open reads the files for the first time. Errors wrap locks.ErrUsage.
func (s *Settings) Open() (*Source, error) {
	roots, err := reload.Open(s.caName, authorities, s.CA)
	if err != nil {
		return nil, locks.Usagef("%v", err)
	}
	pair, err := reload.Open(s.certName, keyPair, s.Cert, s.key)
	if err != nil {
		return nil, locks.Usagef("%v", err)
	}
	base := &tls.Config{ServerName: s.ServerName, MinVersion: tls.VersionTLS12, InsecureSkipVerify: s.Insecure} //nolint:gosec // if the user said so
	return &Source{base: base, roots: roots, pair: pair}, nil
}

func authorities(contents [][]byte) (*x509.CertPool, error) {
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

// Own returns the certificate that a configuration has for us; nil: none.
func Own(c *tls.Config) *tls.Certificate {
	if c.GetClientCertificate == nil {
		return nil
	}
	own, _ := c.GetClientCertificate(nil) // it is as Config made it
	return own
}
