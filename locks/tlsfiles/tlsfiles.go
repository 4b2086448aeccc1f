// Package tlsfiles reads certificates from files that may be replaced while a program
// runs: a job may run for longer than a certificate is valid, or a CA in use.
package tlsfiles

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
)

// Files names the files, in PEM. "" is none.
type Files struct {
	CA        string // the CAs that may have signed the server's certificate
	Cert, Key string // our certificate and its key, both or none

	CAName, CertName string // what errors call the settings that named them
}

// A Source makes a configuration for each connection. All is read anew each time, and not
// only when a file's time has changed, which not every file system tells in time. What
// cannot be read, or is half written, is as it was when it last could.
type Source struct {
	Log *slog.Logger // told once when files cannot be read any more; nil: nobody is

	base  *tls.Config
	files Files

	mu      sync.Mutex
	pem     []byte           // what roots were made of
	roots   *x509.CertPool   // nil: those of the system
	pair    *tls.Certificate // nil: we have none
	trouble string           // why the files could not be read the last time
}

// Open reads the files for the first time. The rest of each configuration is as in base.
func Open(base *tls.Config, f Files) (*Source, error) {
	s := &Source{base: base, files: f}
	if err := s.read(); err != nil {
		return nil, err
	}
	return s, nil
}

// Config returns the configuration for a new connection.
func (s *Source) Config() *tls.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	trouble := ""
	if err := s.read(); err != nil {
		trouble = err.Error()
	}
	if trouble != "" && trouble != s.trouble && s.Log != nil {
		s.Log.Warn("cannot read certificates anew; going on with those that were read before", "err", trouble)
	}
	s.trouble = trouble
	c := s.base.Clone()
	c.RootCAs = s.roots
	if pair := s.pair; pair != nil {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair, nil }
	}
	return c
}

// read reads what can be read.
func (s *Source) read() error { return errors.Join(s.readCA(), s.readPair()) }

func (s *Source) readCA() error {
	if s.files.CA == "" {
		return nil
	}
	pem, err := os.ReadFile(s.files.CA)
	if err != nil {
		return fmt.Errorf("%s: %w", s.files.CAName, err)
	}
	if s.roots != nil && bytes.Equal(pem, s.pem) {
		return nil // a bundle may have hundreds of them
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s: no certificate in %s", s.files.CAName, s.files.CA)
	}
	s.roots, s.pem = roots, pem
	return nil
}

// readPair keeps the old pair if only one of its files has been replaced yet.
func (s *Source) readPair() error {
	if s.files.Cert == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(s.files.Cert, s.files.Key)
	if err != nil {
		return fmt.Errorf("%s: %w", s.files.CertName, err)
	}
	s.pair = &pair
	return nil
}
