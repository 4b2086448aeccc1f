package faults

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/consul/consultest"
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
	rests   int                       // see plan
	args    func(m *machine) []string // arguments before the command
}

// peers returns all peers.
func peers() []peer {
	return []peer{{
		name: "etcdctl-lock", backend: "etcd", subject: "etcdctl lock",
		store: etcdSingle,
		args: func(m *machine) []string {
			return []string{etcdtest.Binary(m.c.t, "", "etcdctl"), "--endpoints", m.Addrs()[0], "lock", "--ttl", strconv.Itoa(int(ttl.Seconds())), lockName}
		},
	}, consulLock, elector, flock}
}

var consulLock = peer{
	name: "consul-lock", backend: "consul", subject: "consul lock",
	store: consulSingle, rests: 5,
	args: func(m *machine) []string {
		return []string{consultest.Binary(m.c.t), "lock", "-http-addr", m.Addrs()[0], "-shell=false", "-child-exit-code", lockName}
	},
}

// flock locks our lock file. Its job inherits the lock, so killing flock frees nothing.
var flock = peer{
	name: "flock", backend: "file", subject: "flock",
	store: flockStore,
	args: func(m *machine) []string {
		dir := strings.TrimPrefix(m.c.store.env(nil)[0], "LEADERRUN_BACKEND=file://")
		return []string{"flock", filepath.Join(dir, lockName+".lock")}
	},
}

func flockStore(t *testing.T, p plan) *store {
	if _, err := exec.LookPath("flock"); err != nil {
		realserver.Missing(t, err.Error())
	}
	return fileStore(t, p)
}
