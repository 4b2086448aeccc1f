package faults

import (
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// A peer is another program that runs a command under a lock. It suffers the same faults,
// and its violations are only reported. Each of its jobs is one process, because killing
// the others of a job has nothing to do with leases.
type peer struct {
	name    string
	backend string
	subject string // for the report
	store   func(*testing.T, plan) *store
	args    func(t *testing.T, addr string) []string // arguments before the command
}

// peers returns the installed peers.
func peers() []peer {
	all := []peer{{
		name: "etcdctl-lock", backend: "etcd", subject: "etcdctl lock",
		store: etcdSingle,
		args: func(t *testing.T, addr string) []string {
			return []string{etcdtest.Binary(t, "", "etcdctl"), "--endpoints", addr, "lock", "--ttl", strconv.Itoa(int(ttl.Seconds())), lockName}
		},
	}}
	if path, err := exec.LookPath("consul"); err == nil {
		all = append(all, peer{
			name: "consul-lock", backend: "consul", subject: "consul lock",
			store: consulStore,
			args: func(_ *testing.T, addr string) []string {
				return []string{path, "lock", "-http-addr", addr, "-shell=false", "-child-exit-code", lockName}
			},
		})
	}
	return all
}

// A consul is a Consul server.
type consul struct {
	*realserver.Process
	addr string
}

func consulStore(t *testing.T, _ plan) *store {
	t.Helper()
	path, err := exec.LookPath("consul")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	port := func() string { return strconv.Itoa(realserver.FreePort(t)) }
	http := port()
	c := &consul{addr: "127.0.0.1:" + http, Process: &realserver.Process{
		TB: t, Path: path, LogFile: filepath.Join(dir, "log"), Env: []string{"HOME=" + dir},
		Args: []string{
			"agent", "-server", "-bootstrap-expect=1", "-data-dir", dir, "-bind", "127.0.0.1", "-client", "127.0.0.1",
			"-http-port", http, "-dns-port", "-1", "-grpc-port", "-1", "-grpc-tls-port", "-1",
			"-hcl", "performance { raft_multiplier = 1 }", // otherwise it takes some 10 s to serve again
			"-server-port", port(), "-serf-lan-port", port(), "-serf-wan-port", port(),
		},
	}}
	c.Start()
	return &store{servers: []string{c.addr}, env: func([]string) []string { return nil }, faults: serverFaults(c)}
}

// Start starts the server, and waits until it serves.
func (c *consul) Start() {
	c.Process.Start()
	c.WaitReady(func() bool {
		conn, err := net.DialTimeout("tcp", c.addr, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}
