// Package consultest runs real Consul servers for tests and benchmarks. This is a package of
// its own because faults and testscripts start them, too.
package consultest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// Options say what kind of server to run.
type Options struct {
	HCL   []string // further parts of its configuration
	HTTPS bool     // it serves HTTPS, and not HTTP
	Token string   // the initial management token, which Ask uses; it also turns ACLs on
	// Places are where the servers run, one for each; nil: on loopback.
	Places []realserver.Place
}

// A Server keeps its data over a restart. Its methods fail the test if they fail, and are
// not for concurrent use.
type Server struct {
	*realserver.Process
	Node string

	tb         testing.TB
	o          Options
	http, serf int // the ports
}

// A Cluster is the servers of one datacenter.
type Cluster []*Server

// Binary returns the path of the program consul. If it is missing, the test is skipped, or
// fails if CI=true.
func Binary(tb testing.TB) string {
	tb.Helper()
	return realserver.Installed(tb, "consul-v1.21.0", "consul")
}

// Start runs one server.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	return StartCluster(tb, 1, o)[0]
}

// StartCluster runs n servers. Sessions may have a ttl of 1 s.
func StartCluster(tb testing.TB, n int, o Options) Cluster {
	tb.Helper()
	all := make(Cluster, n)
	for i := range all {
		all[i] = &Server{Node: fmt.Sprintf("n%d", i+1), tb: tb, o: o, http: realserver.FreePort(tb), serf: realserver.FreePort(tb)}
	}
	for i, s := range all {
		place := realserver.Place{}
		if o.Places != nil {
			place = o.Places[i]
		}
		args := []string{"-server", fmt.Sprint("-bootstrap-expect=", n), "-server-port", fmt.Sprint(realserver.FreePort(tb))}
		if i > 0 {
			args = append(args, "-retry-join", all[0].Place.Addr(all[0].serf))
		}
		s.run(place, args...)
	}
	for _, s := range all {
		s.WaitReady()
	}
	return all
}

// Agent runs a client agent that joins the server.
func (s *Server) Agent() *Server {
	s.tb.Helper()
	a := &Server{tb: s.tb, o: s.o, http: realserver.FreePort(s.tb), serf: realserver.FreePort(s.tb)}
	a.Node = fmt.Sprint("agent-", a.http)
	a.run(realserver.Place{}, "-retry-join", s.Place.Addr(s.serf))
	a.WaitReady()
	return a
}

// run starts the server, or agent, for the first time, with further arguments.
func (s *Server) run(place realserver.Place, args ...string) {
	s.tb.Helper()
	dir := realserver.DataDir(s.tb)
	args = append([]string{
		"agent", "-node", s.Node, "-data-dir", filepath.Join(dir, "data"),
		"-bind", place.Host(), "-client", place.Host(), "-dns-port", "-1", "-grpc-port", "-1", "-grpc-tls-port", "-1",
		"-serf-lan-port", fmt.Sprint(s.serf), "-serf-wan-port", "-1", "-retry-interval", "1s",
		"-log-level", "warn",
		"-hcl", `session_ttl_min = "1s"`, "-hcl", `performance { raft_multiplier = 1 }`, "-hcl", `disable_update_check = true`, "-hcl", `limits { http_max_conns_per_client = 2000 }`,
	}, args...)
	if s.o.HTTPS {
		args = append(args, "-http-port", "-1", "-hcl", fmt.Sprintf("ports { https = %d }", s.http))
	} else {
		args = append(args, "-http-port", fmt.Sprint(s.http))
	}
	if s.o.Token != "" {
		args = append(args, "-hcl", fmt.Sprintf(`acl { enabled = true default_policy = "deny" tokens { initial_management = %q agent = %q } }`, s.o.Token, s.o.Token))
	}
	for _, hcl := range s.o.HCL {
		args = append(args, "-hcl", hcl)
	}
	s.Process = &realserver.Process{TB: s.tb, Path: Binary(s.tb), Args: args, Place: place, Env: []string{"HOME=" + dir}, LogFile: filepath.Join(dir, "log")}
	s.Process.Start()
}

// Addr returns the address of the HTTP API, "127.0.0.1:port" on loopback.
func (s *Server) Addr() string { return s.Place.Addr(s.http) }

// URL returns the address as a leaderrun backend, without a prefix.
func (s *Server) URL() string { return "consul://" + s.Addr() }

// Start starts a server that was stopped or killed, with its data.
func (s *Server) Start() {
	s.tb.Helper()
	s.Process.Start()
	s.WaitReady()
}

// WaitReady waits until the server knows a leader that has a majority.
func (s *Server) WaitReady() {
	s.tb.Helper()
	s.Process.WaitReady(func() bool {
		if s.o.HTTPS { // a client certificate may be wanted
			c, err := net.Dial("tcp", s.Addr())
			if err == nil {
				_ = c.Close()
			}
			return err == nil
		}
		status, _, err := s.request(http.MethodGet, "/v1/kv/none?consistent", "")
		return err == nil && (status == http.StatusNotFound || status == http.StatusForbidden)
	})
}

// Ask sends a request to the HTTP API, and fails the test if the server cannot answer it.
// A missing key and a conflict are answers.
func (s *Server) Ask(method, path, body string) string {
	s.tb.Helper()
	status, text, err := s.request(method, path, body)
	if err != nil || status != http.StatusOK && status != http.StatusNotFound && status != http.StatusConflict {
		s.tb.Fatalf("%s %s: %d %s %v", method, path, status, text, err)
	}
	return text
}

func (s *Server) request(method, path, body string) (status int, text string, err error) {
	req, err := http.NewRequest(method, "http://"+s.Addr()+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if s.o.Token != "" {
		req.Header.Set("X-Consul-Token", s.o.Token)
	}
	client := http.Client{Timeout: realserver.Ready}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// Leader returns the server that leads. It waits until there is one.
func (c Cluster) Leader() *Server {
	c[0].tb.Helper()
	var leader *Server
	c[0].Process.WaitReady(func() bool {
		for _, s := range c {
			if _, text, err := s.request(http.MethodGet, "/v1/agent/self", ""); err == nil && strings.Contains(text, `"leader":"true"`) {
				leader = s
			}
		}
		return leader != nil
	})
	return leader
}
