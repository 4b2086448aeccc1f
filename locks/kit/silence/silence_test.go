package silence_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/silence"
)

// A server answers with a status, or not at all, and counts its connections.
type server struct {
	*httptest.Server
	status atomic.Int64 // 0: no answer
	header sync.Map
	dialed atomic.Int64
}

func start(t *testing.T) *server {
	s := &server{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.status.Load() == 0 {
			<-r.Context().Done()
			return
		}
		s.header.Range(func(k, v any) bool { w.Header().Set(k.(string), v.(string)); return true })
		w.WriteHeader(int(s.status.Load()))
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.dialed.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func ask(t *testing.T, rt http.RoundTripper, s *server, limit time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	return err
}

// TestNewConnection checks after which answers the next request uses a new connection.
func TestNewConnection(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int64
		header string
		fresh  bool
	}{
		{"served", 200, "", false},
		{"not found", 404, "", false},
		{"too many requests", 429, "", false},
		{"no leader", 500, "", true},
		{"unavailable", 503, "", true},
		{"overloaded", 503, "Retry-After", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t)
			rt := silence.Transport{Transport: &http.Transport{}}
			if tt.header != "" {
				s.header.Store(tt.header, "1")
			}
			s.status.Store(tt.status)
			for range 2 {
				if err := ask(t, rt, s, time.Minute); err != nil {
					t.Fatal(err)
				}
			}
			if got := s.dialed.Load() == 2; got != tt.fresh {
				t.Errorf("%d connections for two requests", s.dialed.Load())
			}
		})
	}
}

// TestDialOutlivesRequest dials for longer than the first request has. The second one uses that
// connection, also if it begins later.
func TestDialOutlivesRequest(t *testing.T) {
	s := start(t)
	s.status.Store(200)
	dialed := make(chan struct{})
	proceed := make(chan struct{})
	rt := silence.Transport{Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		<-proceed
		defer func() { dialed <- struct{}{} }()
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}}
	if err := ask(t, rt, s, 50*time.Millisecond); err == nil {
		t.Fatal("answered without a connection")
	}
	close(proceed)
	<-dialed
	time.Sleep(50 * time.Millisecond) // the connection becomes idle
	if err := ask(t, rt, s, time.Minute); err != nil {
		t.Fatal(err)
	}
	if n := s.dialed.Load(); n != 1 {
		t.Errorf("%d connections were made", n)
	}
}
