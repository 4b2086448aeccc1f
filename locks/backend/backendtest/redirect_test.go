package backendtest

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/badserver"
)

// redirected returns the URLs of the backends that speak HTTP, by scheme, with the address of
// a server. "https://" says that the server speaks TLS: without it no token is sent there.
func redirected() map[string]string {
	return map[string]string{
		"etcd":    "etcd://u:p@%s",
		"gcs":     "gcs://bucket?endpoint=https://%s",
		"consul":  "consul://%s",
		"azblob":  "azblob://account/container?endpoint=http://%s",
		"k8s":     "k8s:///default?kubeconfig=%s",
		"spanner": "spanner://project/instance/database?endpoint=http://%s",
	}
}

// otherProtocols are the schemes of the backends that do not speak HTTP.
const otherProtocols = "zk postgres mysql quorum gossip"

// TestRedirects asks servers that redirect every request. The other host must see nothing:
// what is sent there has credentials.
func TestRedirects(t *testing.T) {
	t.Setenv("AZURE_STORAGE_KEY", "a2V5")
	t.Setenv("CONSUL_HTTP_TOKEN", "secret")
	open := helpers(t)
	for _, b := range known.Backends() {
		at, ok := redirected()[b.Scheme]
		if ok == (b.BuiltIn || strings.Contains(otherProtocols, b.Scheme)) {
			t.Errorf("%s: is it asked to follow a redirect?", b.Scheme)
		}
		if !ok {
			continue
		}
		t.Run(b.Scheme, func(t *testing.T) {
			stranger := startStranger(t)
			if b.Scheme == "k8s" {
				api := httptest.NewTLSServer(badserver.RedirectHandler(stranger.URL))
				t.Cleanup(api.Close)
				refuses(t, open, fmt.Sprintf(at, kubeconfig(t, api.URL)))
				return
			}
			if !strings.Contains(at, "https://") {
				refuses(t, open, fmt.Sprintf(at, badserver.Redirect(t, stranger.URL)))
				return
			}
			tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"access_token":"secret","token_type":"Bearer","expires_in":3600}`))
			}))
			t.Cleanup(tokens.Close)
			t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", lockstest.GoogleKey(t, tokens.URL))
			var asked atomic.Int32
			service := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				if r.Header.Get("Authorization") != "Bearer secret" {
					t.Errorf("%s %s has no token", r.Method, r.URL)
				}
				badserver.RedirectHandler(stranger.URL)(w, r)
			}))
			t.Cleanup(service.Close)
			trust(t, service)
			refuses(t, open, fmt.Sprintf(at, service.Listener.Addr()))
			if asked.Load() == 0 {
				t.Error("the service was not asked")
			}
		})
	}
}

// kubeconfig writes one that names a server, and has a token for it.
func kubeconfig(tb testing.TB, server string) (file string) {
	tb.Helper()
	file = filepath.Join(tb.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
		"clusters": [{"name": "c", "cluster": {"server": %q, "insecure-skip-tls-verify": %v}}], "users": [{"name": "u", "user": {"token": "secret"}}]}`,
		server, strings.HasPrefix(server, "https:"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

// TestTokenRedirects asks servers for access tokens that redirect every request.
func TestTokenRedirects(t *testing.T) {
	open := helpers(t)
	for scheme, at := range map[string]string{"gcs": "gcs://bucket", "spanner": "spanner://project/instance/database"} {
		t.Run(scheme, func(t *testing.T) {
			stranger := startStranger(t)
			t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", lockstest.GoogleKey(t, "http://"+badserver.Redirect(t, stranger.URL)))
			refuses(t, open, at+"?endpoint=https://127.0.0.1:1")
		})
	}
}

// startStranger starts a server that must not be asked.
func startStranger(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		t.Errorf("the other host was asked: %s %s %v %.100s", r.Method, r.URL, r.Header, body)
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(s.Close)
	return s
}

// refuses checks that a lock cannot be taken there.
func refuses(t *testing.T, open locks.Opener, at string) {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	l, err := open(t.Context(), u, locks.Options{Name: "x", Holder: "h", RunID: "r", TTL: 15 * time.Second, ConnectTimeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err = l.Acquire(ctx, true)
	t.Log(err)
	if err == nil || ctx.Err() != nil {
		t.Errorf("acquire: %v", err)
	}
}

// trust makes the helpers trust the certificate of a server.
func trust(t *testing.T, s *httptest.Server) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", file)
}
