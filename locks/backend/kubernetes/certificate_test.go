package kubernetes

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/kubernetes/kubetest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// A gate is in front of an API server, and does what that does with certificates: at each request
// it looks at the connection's, and answers 401 if that no longer counts.
type gate struct {
	*httptest.Server
	ca     *realserver.CA
	own    atomic.Pointer[tls.Certificate]
	counts atomic.Value // the client certificate that counts, in DER
}

func newGate(t *testing.T, r *rig) *gate {
	g := &gate{ca: realserver.NewCA(t)}
	pass := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "https", Host: r.server.Addr()})
	pass.Transport, pass.FlushInterval = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}, -1
	g.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if len(req.TLS.PeerCertificates) == 0 || string(req.TLS.PeerCertificates[0].Raw) != g.counts.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}`)
			return
		}
		req.Header.Set("Authorization", "Bearer "+kubetest.Admin)
		pass.ServeHTTP(w, req)
	}))
	_, _, made := g.issue(t, "apiserver")
	g.own.Store(made)
	g.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return g.own.Load(), nil }}
	g.StartTLS()
	t.Cleanup(func() { g.CloseClientConnections(); g.Close() })
	return g
}

// issue makes a certificate in the same files as the one of that name before.
func (g *gate) issue(t *testing.T, name string) (cert, key string, made *tls.Certificate) {
	t.Helper()
	cert, key = g.ca.Issue(name, realserver.Cert{})
	c, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key, &c
}

// client makes the client certificate that counts from now on.
func (g *gate) client(t *testing.T) (cert, key string) {
	t.Helper()
	cert, key, made := g.issue(t, "client")
	g.counts.Store(string(made.Certificate[0]))
	return cert, key
}

// open takes a lock behind the gate, as a user in the words of a kubeconfig.
func (g *gate) open(t *testing.T, r *rig, user map[string]any) locks.Lock {
	t.Helper()
	u := r.server.URL(g.Listener.Addr().String(), r.server.Namespace(), user)
	file := u.Query().Get("kubeconfig")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.ReplaceAll(string(text), r.server.CAFile, g.ca.CertFile)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := electionOptions("a")
	o.TTL = time.Minute
	l := drive.Open(t, Open, u.String(), o)
	drive.Hold(t, l)
	drive.Renew(t, l)
	return l
}

// renews checks that the holder is refused, and then renews in time.
func (g *gate) renews(t *testing.T, l locks.Lock) {
	t.Helper()
	if err := l.Renew(drive.Context(t)); !errors.Is(err, locks.ErrUnavailable) {
		t.Errorf("with the certificate before: %v", err)
	}
	drive.Eventually(t, drive.Patience/2, "a renewal with the new certificate", func() bool { return l.Renew(drive.Context(t)) == nil })
}

// testNewCertificate checks that a holder makes a connection with its new certificate when
// the one before no longer counts.
func testNewCertificate(t *testing.T, r *rig) {
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		g := newGate(t, r)
		cert, key := g.client(t)
		l := g.open(t, r, map[string]any{"client-certificate": cert, "client-key": key})
		g.client(t)
		g.renews(t, l)
	})
	t.Run("plugin", func(t *testing.T) {
		t.Parallel()
		g := newGate(t, r)
		printed := filepath.Join(t.TempDir(), "printed")
		renew := func() {
			status := map[string]string{}
			cert, key := g.client(t)
			for name, file := range map[string]string{"clientCertificateData": cert, "clientKeyData": key} {
				text, _ := os.ReadFile(file)
				status[name] = string(text)
			}
			text, _ := json.Marshal(map[string]any{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status})
			if err := os.WriteFile(printed, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		renew()
		l := g.open(t, r, map[string]any{"exec": map[string]any{"apiVersion": "client.authentication.k8s.io/v1", "command": "cat", "args": []string{printed}, "interactiveMode": "Never"}})
		renew()
		g.renews(t, l)
	})
}

// testNewAuthority replaces the authority of the servers.
func testNewAuthority(t *testing.T, r *rig) {
	g := newGate(t, r)
	cert, key := g.client(t)
	l := g.open(t, r, map[string]any{"client-certificate": cert, "client-key": key})
	file := g.ca.CertFile
	g.ca = realserver.NewCA(t)
	_, _, made := g.issue(t, "apiserver")
	g.own.Store(made)
	text, err := os.ReadFile(g.ca.CertFile)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	g.CloseClientConnections()
	drive.Eventually(t, drive.Patience/2, "a renewal with the new authority", func() bool { return l.Renew(drive.Context(t)) == nil })
}
