package monitor

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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
		err := get(t.Context(), server.URL)
		server.Close()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("status %d: got %v, want %q", status, err, want)
		}
	}
}

// The certificate of a server is verified.
func TestHTTPS(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	server.Config.ErrorLog = nil
	if err := get(t.Context(), server.URL); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v, want a complaint about the certificate", err)
	}
}

// Only ctx limits the wait for a server that accepts connections and does not answer.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() { asked <- get(ctx, "http://user:secret@"+l.Addr().String()+"/") }()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := connect(t.Context(), l.Addr().String()); err != nil {
		t.Errorf("connect: %v; want a connection to be enough", err)
	}
	cancel()
	if err := <-asked; err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want an error without the password", err)
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	for _, target := range []string{"tcp://" + addr, "http://" + addr} {
		if got := probe(target); got != 1 {
			t.Errorf("%s: exit status %d, want 1", target, got)
		}
	}
}

func TestInvalidTargets(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"", "localhost:80", "ftp://h/", "http://", "tcp://localhost", "tcp://h:", "udp://h:1"} {
		if got := probe(target); got != 64 {
			t.Errorf("%q: exit status %d, want 64", target, got)
		}
	}
}
