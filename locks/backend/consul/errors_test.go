package consul_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/consul"
	"github.com/leaderrun/leaderrun/locks/backend/consul/consultest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

type troubled drive.Trouble

func TestErrors(t *testing.T) {
	t.Parallel()
	m := drive.Manner{
		Open: consul.Open, Options: options("a"), Later: 1500 * time.Millisecond, Secrets: []string{secret},
		Noise: []string{"rpc error", "Put \"", "Get \"", "EOF", "http://"},
	}
	m.Options.ConnectTimeout = time.Second
	for _, tt := range troubles(t) {
		tt.URL = "consul://" + tt.URL
		drive.Trouble(tt).Test(t, m)
	}
}

// TestCauseInTime: what a server refuses again and again is reported before the caller gives up.
func TestCauseInTime(t *testing.T) {
	t.Parallel()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, "No cluster leader")
	}))
	t.Cleanup(h.Close)
	trial.Steady(t, func(t testing.TB, scale int) {
		o := options("a")
		o.ConnectTimeout = time.Duration(scale) * 2 * time.Second
		l := drive.Open(t, consul.Open, "consul://"+h.Listener.Addr().String(), o)
		ctx, cancel := context.WithTimeout(t.Context(), o.ConnectTimeout)
		defer cancel()
		if _, err := l.Acquire(ctx, true); ctx.Err() != nil || err == nil || !strings.HasSuffix(err.Error(), ": No cluster leader") {
			t.Errorf("got %v", err)
		}
	})
}

// TestSlowServer: the connect timeout bounds all requests of an attempt together.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	for _, try := range []bool{true, false} {
		locked := make(chan struct{}, 9)
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(700 * time.Millisecond)
			switch {
			case r.URL.Path == "/v1/session/create":
				_, _ = io.WriteString(w, `{"ID": "a"}`)
			case r.URL.Path == "/v1/txn":
				locked <- struct{}{}
			case r.Method == http.MethodGet:
				w.Header().Set("X-Consul-Index", "1")
				w.WriteHeader(http.StatusNotFound)
			}
		}))
		t.Cleanup(h.Close)
		o := options("a")
		o.ConnectTimeout = time.Second
		l := drive.Open(t, consul.Open, "consul://"+h.Listener.Addr().String(), o)
		if _, err := l.Acquire(t.Context(), try); !errors.Is(err, locks.ErrUnavailable) || len(locked) > 0 {
			t.Errorf("try %v: %v; %d requests for the lock after the connect timeout", try, err, len(locked))
		}
	}
}

const secret = "5ec7e755-0000-0000-0000-000000000001"

func troubles(t *testing.T) []troubled {
	ca, other := realserver.NewCA(t), realserver.NewCA(t)
	cert, key := ca.Issue("server", realserver.Cert{})
	files := fmt.Sprintf("cert_file = %q key_file = %q ca_file = %q", cert, key, ca.CertFile)
	plain := consultest.Start(t, consultest.Options{})
	secure := consultest.Start(t, consultest.Options{HTTPS: true, HCL: []string{"tls { https { " + files + " } }"}})
	mutual := consultest.Start(t, consultest.Options{HTTPS: true, HCL: []string{"tls { https { " + files + " verify_incoming = true } }"}})
	answers := func(status int, text string) string {
		h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}))
		h.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
		h.Start()
		t.Cleanup(h.Close)
		return h.Listener.Addr().String()
	}
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	old.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	old.StartTLS()
	t.Cleanup(old.Close)
	hole := faultproxy.New(t, plain.Addr())
	hole.CutAll()
	ssh := drive.Listen(t, func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.2\r\n") })
	return []troubled{
		{"server down", drive.Nobody(t), locks.ErrUnavailable, "connection refused", "check that a Consul agent runs", false},
		{"no such host", "no-such-host.invalid", locks.ErrUnavailable, "no such host", "spelling", true},
		{"black hole", hole.Addr(), locks.ErrUnavailable, "no answer", "check the address", true},
		{"web page", answers(http.StatusOK, "<html>"), locks.ErrUnavailable, "not Consul's", "check the port", false},
		{"redirect", answers(http.StatusFound, "<html>"), locks.ErrUnavailable, "302", "check the port", false},
		{"proxy denies", answers(http.StatusForbidden, "<html>"), locks.ErrDenied, "403", "policy", false},
		{"wants a password", answers(http.StatusUnauthorized, ""), locks.ErrDenied, "401", "CONSUL_HTTP_AUTH", false},
		{"no leader", answers(http.StatusInternalServerError, "No cluster leader"), locks.ErrUnavailable, "No cluster leader", "list-peers", true},
		{"SSH server", ssh, locks.ErrUnavailable, "the server at this address is not Consul", "check the port", false},
		{"plain to TLS port", secure.Addr(), locks.ErrUnavailable, "HTTPS server", "if the server speaks TLS", false},
		{"TLS to plain port", plain.Addr() + "?tls=true", locks.ErrUnavailable, "does not speak it", "does not speak TLS", false},
		{"unknown CA", secure.Addr() + "?cacert=" + other.CertFile, locks.ErrUnavailable, "signed by unknown authority", "cacert=FILE", false},
		{"other name", secure.Addr() + "?servername=x.example&cacert=" + ca.CertFile, locks.ErrUnavailable, "not x.example", "servername=NAME", false},
		{"alert", old.Listener.Addr().String() + "?tls=true", locks.ErrUnavailable, "protocol version", "", true},
		{"no client certificate", mutual.Addr() + "?cacert=" + ca.CertFile, locks.ErrDenied, "certificate", "cert=FILE", false},
		{"other datacenter", plain.Addr() + "?dc=dc9", locks.ErrUnavailable, "No path to datacenter", "dc=", false},
		{"namespace", plain.Addr() + "?namespace=x", locks.ErrUsage, "Enterprise", "", false},
		{"partition", plain.Addr() + "?partition=x", locks.ErrUsage, "Enterprise", "", false},
		{"too many connections", answers(http.StatusTooManyRequests, "Your IP is issuing too many concurrent connections, please rate limit your calls"), locks.ErrUnavailable, "too many concurrent connections", "http_max_conns_per_client", true},
	}
}

// TestConnections checks TLS with a client certificate.
func TestConnections(t *testing.T) {
	t.Parallel()
	ca := realserver.NewCA(t)
	cert, key := ca.Issue("server", realserver.Cert{})
	own, ownKey := ca.Issue("client", realserver.Cert{})
	s := consultest.Start(t, consultest.Options{HTTPS: true, HCL: []string{fmt.Sprintf("tls { https { cert_file = %q key_file = %q ca_file = %q verify_incoming = true } }", cert, key, ca.CertFile)}})
	l := handle(t, fmt.Sprintf("%s?cacert=%s&cert=%s&key=%s", s.URL(), ca.CertFile, own, ownKey), options("a"))
	drive.Eventually(t, drive.Patience, "the server has a leader", func() bool {
		_, err := l.Inspect(drive.Context(t))
		return err == nil
	})
	drive.Hold(t, l)
	drive.Renew(t, l)
	probed, err := l.Probe(drive.Context(t))
	if got := probed.Servers[0]; err != nil || got.TLS != "1.3" || got.Expires.IsZero() || got.Role != "server" || got.Error != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	drive.Release(t, l)
}
