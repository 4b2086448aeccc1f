package metrics

import (
	"encoding/json"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/leaderrun/leaderrun/locks"
)

// newServer returns a server that does not wait for clients that send a request slowly, or
// do not read the answer.
func newServer(s *state, from prometheus.Gatherer) *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(from, promhttp.HandlerOpts{MaxRequestsInFlight: 8}))
	mux.HandleFunc("GET /healthz", s.serveHealth)
	mux.HandleFunc("GET /leader", s.serveLeader)
	mux.HandleFunc("GET /is-leader", s.serveIsLeader)
	return &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       5 * time.Second,
		WriteTimeout:      10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
}

// serve serves on an address until the process ends.
func serve(s *state, from prometheus.Gatherer) (net.Addr, *http.Server, error) {
	listener, err := net.Listen("tcp", s.open.Listen)
	if err != nil {
		return nil, nil, err
	}
	server := newServer(s, from)
	go func() { _ = server.Serve(listener) }() // until it is closed
	return listener.Addr(), server, nil
}

// serveHealth answers 200 while the run is healthy.
func (s *state) serveHealth(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	well := s.well()
	s.mu.Unlock()
	if !well {
		http.Error(w, "leaderrun does not answer, or its lease has ended", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n")) // the client may be gone
}

// A leader is the answer to the question who leads. Name is as in the answer of
// Kubernetes' sidecar leader-elector, which has nothing else.
type leader struct {
	Name      string     `json:"name"` // the holder's id, or "" if it is not known
	Lock      string     `json:"lock"`
	IsLeader  bool       `json:"is_leader"`           // the holder is the leaderrun that was asked
	ID        string     `json:"id"`                  // our own, whoever leads
	Holder    string     `json:"holder"`              // as Name
	Advertise string     `json:"advertise,omitempty"` // what the holder publishes
	Token     uint64     `json:"token,omitempty"`
	Deadline  *time.Time `json:"deadline,omitempty"` // the end of the time in which the lease is certainly ours, by our own clock
	LeftMS    *int64     `json:"left_ms,omitempty"`
	Position  int        `json:"position,omitempty"` // our place in the queue
}

func (s *state) leader() leader {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := leader{Lock: s.open.Lock, ID: s.open.ID}
	if !s.leads() {
		l.Name, l.Advertise, l.Position = locks.Printable(s.waiting.Holder), locks.Printable(s.waiting.Advertise), s.waiting.Position
		l.Holder = l.Name
		return l
	}
	l.Name, l.Holder, l.Advertise, l.IsLeader, l.Token = s.open.ID, s.open.ID, s.open.Advertise, true, s.token
	if s.deadline != 0 {
		left := s.left().Milliseconds()
		at := time.Now().Add(s.left()).Round(time.Millisecond)
		l.Deadline, l.LeftMS = &at, &left
	}
	return l
}

// serveIsLeader answers 200 while the lease is certainly ours, and else 503, as a readiness probe
// and a load balancer need it.
func (s *state) serveIsLeader(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	leads := s.leads()
	s.mu.Unlock()
	if !leads {
		http.Error(w, "no", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("yes\n")) // the client may be gone
}

func (s *state) serveLeader(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.leader()) // the client may be gone
}
