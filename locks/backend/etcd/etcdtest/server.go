package etcdtest

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// A Server is one member. Its methods fail the test if they cannot do what they say, and
// must not be called concurrently.
type Server struct {
	tb      testing.TB
	process *realserver.Process
	o       Options
	name    string
	dir     string
	place   realserver.Place
	client  int // the ports
	peer    int
	metrics int
}

// readyTimeout bounds the start of a server on a busy machine.
const readyTimeout = realserver.Ready

// Addr returns the address for clients, "127.0.0.1:port" on loopback.
func (s *Server) Addr() string { return s.place.Addr(s.client) }

// Endpoint returns the address as a URL, for etcdctl.
func (s *Server) Endpoint() string { return s.scheme() + "://" + s.Addr() }

// URL returns the address as a leaderrun backend, without a prefix.
func (s *Server) URL() string { return "etcd://" + s.Addr() }

// Start starts a server that was stopped or killed, with its data.
func (s *Server) Start() {
	s.tb.Helper()
	s.process.Start()
	s.WaitReady()
}

// Stop ends the server with a signal, and waits for its end.
func (s *Server) Stop() { s.tb.Helper(); s.process.Stop() }

// Kill ends the server at once.
func (s *Server) Kill() { s.tb.Helper(); s.process.Kill() }

// Pause freezes the server: its connections stay open, without answers.
func (s *Server) Pause() { s.tb.Helper(); s.process.Pause() }

// Resume ends a Pause.
func (s *Server) Resume() { s.tb.Helper(); s.process.Resume() }

// Log returns what the server has logged.
func (s *Server) Log() string { return s.process.Log() }

// WaitReady waits until the server is healthy: it has a leader.
func (s *Server) WaitReady() { s.tb.Helper(); s.process.WaitReady(s.healthy) }

// Metrics returns the server's metrics in the text form of Prometheus.
func (s *Server) Metrics() string {
	s.tb.Helper()
	_, text, err := s.get(readyTimeout, s.metricsURL()+"/metrics")
	if err != nil {
		s.tb.Fatal(err)
	}
	return text
}

func (s *Server) healthy() bool {
	status, _, err := s.get(time.Second, s.metricsURL()+"/health")
	return err == nil && status == http.StatusOK
}

// leads reports whether a member says that it leads. Its metrics need no user.
func (s *Server) leads() bool {
	_, text, err := s.get(time.Second, s.metricsURL()+"/metrics")
	return err == nil && strings.Contains(text, "\netcd_server_is_leader 1\n")
}

// versioned reports whether the cluster has agreed on a version.
func (s *Server) versioned() bool {
	_, text, err := s.get(time.Second, s.peerURL()+"/version")
	return err == nil && !strings.Contains(text, "not_decided")
}

// get reads a page from the port for metrics and health, or from the one for peers.
func (s *Server) get(limit time.Duration, url string) (status int, text string, err error) {
	client := http.Client{Timeout: limit}
	resp, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer client.CloseIdleConnections()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func (s *Server) scheme() string {
	if s.o.TLS != nil {
		return "https"
	}
	return "http"
}

func (s *Server) peerURL() string    { return "http://" + s.place.Addr(s.peer) }
func (s *Server) metricsURL() string { return "http://" + s.place.Addr(s.metrics) }

func (s *Server) arguments(initial string, members int) []string {
	args := []string{
		"--name", s.name,
		"--data-dir", filepath.Join(s.dir, "data"),
		"--listen-client-urls", s.Endpoint(), "--advertise-client-urls", s.Endpoint(),
		"--listen-peer-urls", s.peerURL(), "--initial-advertise-peer-urls", s.peerURL(),
		"--listen-metrics-urls", s.metricsURL(),
		"--initial-cluster", initial,
		"--bcrypt-cost", "4",
	}
	if t := s.o.TLS; t != nil {
		args = append(args, "--cert-file", t.CertFile, "--key-file", t.KeyFile)
		if t.ClientCAFile != "" {
			args = append(args, "--client-cert-auth", "--trusted-ca-file", t.ClientCAFile)
		}
	}
	if !s.o.Slow {
		args = append(args, s.fast(members)...)
	}
	return append(args, s.o.Args...)
}

// fast returns the flags for a quick start. Members of a cluster need more time, because
// on a busy machine their messages are late.
func (s *Server) fast(members int) []string {
	args := []string{"--heartbeat-interval", "10", "--election-timeout", "50"}
	if members > 1 {
		args = []string{"--heartbeat-interval", "50", "--election-timeout", "500"}
	}
	if s.o.Version != "3.4" {
		args = append(args, "--unsafe-no-fsync")
	}
	return args
}
