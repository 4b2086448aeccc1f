package probe_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/runner/probe"
)

func TestHTTP(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		200: "", 204: "", 302: "", 399: "", 400: "answered 400", 404: "answered 404", 503: "answered 503",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				t.Errorf("got a %s", r.Method)
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		}))
		err := probe.HTTP(t.Context(), server.URL)
		server.Close()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("status %d: got %v, want %q", status, err, want)
		}
	}
}

// A certificate that nobody vouches for is none.
func TestHTTPS(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	server.Config.ErrorLog = nil
	if err := probe.HTTP(t.Context(), server.URL); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v, want a complaint about the certificate", err)
	}
}

// A server that accepts and does not answer is waited for as long as ctx says.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() { asked <- probe.HTTP(ctx, "http://user:secret@"+l.Addr().String()+"/") }()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := probe.TCP(t.Context(), l.Addr().String()); err != nil {
		t.Errorf("TCP: %v; want it to be content with a connection", err)
	}
	cancel()
	if err := <-asked; err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want an error without the password", err)
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	for _, args := range [][]string{{"", "tcp", addr}, {"", "http", "http://" + addr}} {
		if got := probe.Main(args); got != 1 {
			t.Errorf("%v: exit status %d, want 1", args, got)
		}
	}
}

func TestBadTargets(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"x"}, {"x", "http"}, {"x", "http", "localhost:80"}, {"x", "http", "ftp://h/"}, {"x", "http", "http://"},
		{"x", "tcp", "localhost"}, {"x", "tcp", "h:"}, {"x", "udp", "h:1"}, {"x", "tcp", "h:1", "more"}} {
		if got := probe.Main(args); got != 64 {
			t.Errorf("%q: exit status %d, want 64", args, got)
		}
	}
}
