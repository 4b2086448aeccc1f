package tlsfiles_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/tlsfiles"
)

// A place is where the files are that are replaced.
type place struct {
	t     *testing.T
	files tlsfiles.Files
}

func newPlace(t *testing.T) place {
	dir := t.TempDir()
	return place{t, tlsfiles.Files{
		CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"),
		CAName: "cacert", CertName: "cert",
	}}
}

func (p place) write(path, content string) {
	p.t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p place) read(path string) string {
	p.t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// install puts a CA there, and a certificate that it has issued.
func (p place) install(ca *realserver.CA, name string) {
	p.t.Helper()
	cert, key := ca.Issue(name, realserver.Cert{})
	p.write(p.files.CA, p.read(ca.CertFile))
	p.write(p.files.Cert, p.read(cert))
	p.write(p.files.Key, p.read(key))
}

func (p place) open() *tlsfiles.Source {
	p.t.Helper()
	s, err := tlsfiles.Open(&tls.Config{ServerName: "here", MinVersion: tls.VersionTLS13}, p.files)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// holds checks what a configuration has: the CA, and the name in our certificate.
func (p place) holds(c *tls.Config, ca *realserver.CA, name string) {
	p.t.Helper()
	pair, err := c.GetClientCertificate(nil)
	if err != nil || pair.Leaf.Subject.CommonName != name {
		p.t.Errorf("got the certificate of %v, %v; want that of %s", pair.Leaf.Subject, err, name)
	}
	block, _ := pem.Decode([]byte(p.read(ca.CertFile)))
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		p.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	if !c.RootCAs.Equal(roots) {
		p.t.Error("another CA is trusted")
	}
	if c.ServerName != "here" || c.MinVersion != tls.VersionTLS13 {
		p.t.Errorf("the rest is %q, %x", c.ServerName, c.MinVersion)
	}
}

func TestReplaced(t *testing.T) {
	t.Parallel()
	p, first, second := newPlace(t), realserver.NewCA(t), realserver.NewCA(t)
	p.install(first, "one")
	s := p.open()
	p.holds(s.Config(), first, "one")
	p.install(second, "two")
	c := s.Config()
	p.holds(c, second, "two")
	p.install(first, "three")
	p.holds(c, second, "two") // as it was made
}

// TestUnreadable: what cannot be used is as it was, and the log says so, once for each
// reason; the rest is new.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	p, first, second := newPlace(t), realserver.NewCA(t), realserver.NewCA(t)
	p.install(first, "one")
	s := p.open()
	var log drive.Log
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	warned := func(want int) {
		t.Helper()
		if n := strings.Count(log.String(), "level=WARN"); n != want {
			t.Errorf("%d warnings, want %d:\n%s", n, want, log.String())
		}
	}
	for i, spoil := range []func(){
		func() { p.write(p.files.CA, "") },
		func() { p.write(p.files.CA, p.read(second.CertFile)[:200]) },
		func() { _ = os.Remove(p.files.CA) },
		func() { p.write(p.files.Key, "") },
		func() { _, key := second.Issue("other", realserver.Cert{}); p.write(p.files.Key, p.read(key)) },
		func() { _ = os.Remove(p.files.Cert) },
	} {
		spoil()
		p.holds(s.Config(), first, "one")
		warned(2*i + 1)
		p.holds(s.Config(), first, "one")
		warned(2*i + 1)
		p.install(first, "one")
		p.holds(s.Config(), first, "one")
		_ = os.Remove(p.files.CA)
		p.holds(s.Config(), first, "one")
		warned(2*i + 2)
		p.install(first, "one")
		p.holds(s.Config(), first, "one")
	}
	p.install(second, "two")
	p.write(p.files.Key, "")
	p.holds(s.Config(), second, "one")
}

// TestOpen: what cannot be read at first is an error that names the setting.
func TestOpen(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.install(realserver.NewCA(t), "one")
	for name, spoil := range map[string]func(*tlsfiles.Files){
		"cacert": func(f *tlsfiles.Files) { f.CA += ".no" },
		"cert":   func(f *tlsfiles.Files) { f.Key = f.CA },
	} {
		f := p.files
		spoil(&f)
		if _, err := tlsfiles.Open(&tls.Config{}, f); err == nil || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	s, err := tlsfiles.Open(&tls.Config{}, tlsfiles.Files{})
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Config(); c.RootCAs != nil || c.GetClientCertificate != nil {
		t.Errorf("without files: %+v", c)
	}
}
