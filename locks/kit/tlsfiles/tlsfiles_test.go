package tlsfiles_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// A place has the files that a test replaces.
type place struct {
	t             *testing.T
	ca, cert, key string
}

func newPlace(t *testing.T) place {
	dir := t.TempDir()
	return place{t, filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
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

// install writes a CA, and a certificate that the CA has issued.
func (p place) install(ca *realserver.CA, name string) {
	p.t.Helper()
	cert, key := ca.Issue(name, realserver.Cert{})
	p.write(p.ca, p.read(ca.CertFile))
	p.write(p.cert, p.read(cert))
	p.write(p.key, p.read(key))
}

func (p place) open() *tlsfiles.Source {
	p.t.Helper()
	s, err := parse(p.t, "servername=here&cacert="+p.ca+"&cert="+p.cert+"&key="+p.key).Open()
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// holds checks the CA, and the name in our certificate, of a configuration.
func (p place) holds(c *tls.Config, ca *realserver.CA, name string) {
	p.t.Helper()
	if own := tlsfiles.Own(c); own == nil || own.Leaf.Subject.CommonName != name {
		p.t.Errorf("the configuration does not have the certificate of %s", name)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(p.read(ca.CertFile)))
	if !c.RootCAs.Equal(roots) {
		p.t.Error("the configuration trusts another CA")
	}
	if c.ServerName != "here" || c.MinVersion != tls.VersionTLS12 || c.InsecureSkipVerify {
		p.t.Errorf("the rest is %q, %x, %v", c.ServerName, c.MinVersion, c.InsecureSkipVerify)
	}
}

// TestReplaced: each configuration has the present content of the files. If one of them cannot
// be used, its previous content stays, and the log says so; the others are new.
func TestReplaced(t *testing.T) {
	t.Parallel()
	p, first, second := newPlace(t), realserver.NewCA(t), realserver.NewCA(t)
	p.install(first, "one")
	s := p.open()
	var log drive.Log
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	p.holds(s.Config(), first, "one")
	p.install(second, "two")
	c := s.Config()
	p.holds(c, second, "two")
	p.write(p.ca, p.read(second.CertFile)[:200])
	p.holds(s.Config(), second, "two")
	p.install(first, "three")
	_, key := first.Issue("other", realserver.Cert{})
	p.write(p.key, p.read(key))
	p.holds(s.Config(), first, "two")
	p.holds(c, second, "two") // an older configuration does not change
	if text := log.String(); strings.Count(text, "level=WARN") != 2 || !strings.Contains(text, `err="cacert: `) || !strings.Contains(text, `err="cert: `) {
		t.Errorf("the log is:\n%s", text)
	}
}

// TestOpen: if a file cannot be read at first, the error names the setting.
func TestOpen(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.install(realserver.NewCA(t), "one")
	for query, want := range map[string]string{
		"cacert=" + p.key:                    "cacert: no certificate in " + p.key,
		"cert=" + p.cert + "&key=" + p.ca:    "cert: tls: ",
		"cacert=/no/such/file":               "cacert: open /no/such/file",
		"tls=true&cert=/no/such&key=" + p.ca: "cert: open /no/such",
	} {
		if _, err := parse(t, query).Open(); !errors.Is(err, locks.ErrUsage) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v", query, err)
		}
	}
	if s, err := parse(t, "tls=true").Open(); err != nil || s.Config().RootCAs != nil || tlsfiles.Own(s.Config()) != nil {
		t.Errorf("without files: %v", err)
	}
}

func unset(string) string { return "" }

func parse(t *testing.T, query string) *tlsfiles.Settings {
	t.Helper()
	s, err := tlsfiles.Parse(&url.URL{Scheme: "x", RawQuery: query}, unset, "X_")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestParse: TLS is used if the parameter tls says so, or if that is missing, if there is
// another setting for TLS.
func TestParse(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]bool{
		"": false, "tls=true": true, "tls=false": false, "cacert=f&tls=false": false,
		"cacert=f": true, "servername=n": true, "cert=c&key=k": true,
	} {
		if got := parse(t, query).On(); got != want {
			t.Errorf("%q: got %v", query, got)
		}
	}
	for query, want := range map[string]string{
		"tls=yes": "x parameter tls=\"yes\" is neither true nor false", "cert=c": "both cert and key (X_CERT and X_KEY)", "key=k": "both cert and key",
	} {
		_, err := tlsfiles.Parse(&url.URL{Scheme: "x", RawQuery: query}, unset, "X_")
		if !errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", query, err)
		}
	}
}

// TestSecurity: of all certificates on which a connection depends, the first to expire counts,
// the server's or ours. If there are several chains, the one that lasts longest counts.
func TestSecurity(t *testing.T) {
	t.Parallel()
	now := time.Now()
	chain := func(hours ...time.Duration) (all []*x509.Certificate) {
		for _, n := range hours {
			all = append(all, &x509.Certificate{NotAfter: now.Add(n * time.Hour)})
		}
		return all
	}
	ours, err := tls.LoadX509KeyPair(realserver.NewCA(t).Issue("client", realserver.Cert{Lasts: 5 * time.Hour}))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		chains [][]*x509.Certificate
		ours   *tls.Certificate
		want   time.Duration // in hours; 0: none
	}{
		{nil, nil, 0},
		{nil, &ours, 5},
		{[][]*x509.Certificate{chain(3, 24)}, &ours, 3},
		{[][]*x509.Certificate{chain(48, 24)}, nil, 24},
		{[][]*x509.Certificate{chain(6, 24)}, &ours, 5},
		{[][]*x509.Certificate{chain(48, 3), chain(48, 24), chain(48, 4)}, nil, 24},
	} {
		version, ends := tlsfiles.Security(tls.ConnectionState{Version: tls.VersionTLS13, VerifiedChains: tt.chains}, tt.ours)
		if version != "1.3" || ends.IsZero() != (tt.want == 0) || tt.want != 0 && (ends.Sub(now)-tt.want*time.Hour).Abs() > time.Minute {
			t.Errorf("%+v: %q until %v", tt, version, ends)
		}
	}
}
