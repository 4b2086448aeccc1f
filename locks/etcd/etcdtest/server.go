package etcdtest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// A Server is one member. Its methods fail the test when they cannot do what
// they say, and are not for concurrent use.
type Server struct {
	tb      testing.TB
	bin     string
	o       Options
	name    string
	dir     string
	args    []string
	client  int // the ports
	peer    int
	metrics int

	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
}

// readyTimeout bounds the start of a server, on a machine that does much else.
const readyTimeout = 60 * time.Second

// Addr returns the address for clients, "127.0.0.1:port".
func (s *Server) Addr() string { return fmt.Sprintf("127.0.0.1:%d", s.client) }

// Endpoint returns the address as a URL, as etcdctl takes it.
func (s *Server) Endpoint() string { return s.scheme() + "://" + s.Addr() }

// URL returns the address as a leaderrun backend, without a prefix.
func (s *Server) URL() string { return "etcd://" + s.Addr() }

// PID returns the process id of the running server.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Start starts a server that was stopped or killed, with its data.
func (s *Server) Start() {
	s.tb.Helper()
	s.launch()
	s.WaitReady()
}

// Stop ends the server in an orderly way.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Kill ends the server at once.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Restart stops the server and starts it again.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Stop()
	s.Start()
}

// Pause freezes the server: connections stay and nothing answers.
func (s *Server) Pause() {
	s.tb.Helper()
	s.signal(pauseSignal)
	for end := time.Now().Add(readyTimeout); !stopped(s.PID()); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.tb.Fatalf("etcd does not stop on %v", pauseSignal)
		}
	}
}

// Resume ends a Pause.
func (s *Server) Resume() { s.signal(resumeSignal) }

// Log returns what the server has logged.
func (s *Server) Log() string {
	b, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// WaitReady waits until the server is healthy: it has a leader.
func (s *Server) WaitReady() {
	s.tb.Helper()
	deadline := time.Now().Add(readyTimeout)
	for !s.healthy() {
		select {
		case <-s.done:
			s.tb.Fatalf("%s ended while starting:\n%s", s.bin, s.Log())
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			s.tb.Fatalf("%s is not ready after %v:\n%s", s.bin, readyTimeout, s.Log())
		}
	}
}

// Metrics returns the server's metrics in the text form of Prometheus.
func (s *Server) Metrics() string {
	s.tb.Helper()
	resp, err := http.Get(s.metricsURL() + "/metrics")
	if err != nil {
		s.tb.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.tb.Fatal(err)
	}
	return string(b)
}

func (s *Server) healthy() bool {
	client := http.Client{Timeout: time.Second}
	resp, err := client.Get(s.metricsURL() + "/health")
	if err != nil {
		return false
	}
	defer client.CloseIdleConnections()
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func (s *Server) scheme() string {
	if s.o.TLS != nil {
		return "https"
	}
	return "http"
}

func (s *Server) peerURL() string    { return fmt.Sprintf("http://127.0.0.1:%d", s.peer) }
func (s *Server) metricsURL() string { return fmt.Sprintf("http://127.0.0.1:%d", s.metrics) }
func (s *Server) logFile() string    { return filepath.Join(s.dir, "log") }

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

// fast returns the flags for a quick start. Members of a cluster on a busy
// machine need more time to hear from each other.
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

// launch starts the process. The thread that started it is kept, because the
// death signal of Linux is tied to that thread (golang/go#27505).
func (s *Server) launch() {
	s.tb.Helper()
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(s.bin, s.args...)
	cmd.Env = []string{"HOME=" + s.dir} // and no ETCD_… of ours
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = dieWithParent()
	started, done := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // it is killed: how it ends does not matter
		}
		close(done)
	}()
	if err := <-started; err != nil {
		s.tb.Fatal(err)
	}
	s.cmd, s.done = cmd, done
	s.tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
}

func (s *Server) end(sig os.Signal) {
	s.tb.Helper()
	s.signal(sig)
	select {
	case <-s.done:
	case <-time.After(readyTimeout):
		s.tb.Fatalf("%s (pid %d) does not end on %v", s.bin, s.PID(), sig)
	}
}

func (s *Server) signal(sig os.Signal) {
	s.tb.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.tb.Fatalf("signal etcd: %v", err)
	}
}

// freePort returns a port below those that systems give to outgoing
// connections, so that a server finds it free again after a restart. It does
// not listen to find out: a process that another test is just forking would
// keep that socket open for a moment more.
func freePort(tb testing.TB) int {
	tb.Helper()
	for range 1000 {
		port := 10000 + rand.IntN(20000)
		c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			return port
		}
		_ = c.Close()
	}
	tb.Fatal("no free port")
	return 0
}
