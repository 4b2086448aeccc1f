package faults

import (
	"strconv"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/consul/consultest"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
)

// A peer is another program that runs a command under a lock. It suffers the same faults,
// and its violations are only reported. Each of its jobs is one process, because killing
// the others of a job has nothing to do with leases.
type peer struct {
	name    string
	backend string
	subject string // for the report
	store   func(*testing.T, plan) *store
	rests   int                                      // see plan
	args    func(t *testing.T, addr string) []string // arguments before the command
}

// peers returns all peers.
func peers() []peer {
	return []peer{{
		name: "etcdctl-lock", backend: "etcd", subject: "etcdctl lock",
		store: etcdSingle,
		args: func(t *testing.T, addr string) []string {
			return []string{etcdtest.Binary(t, "", "etcdctl"), "--endpoints", addr, "lock", "--ttl", strconv.Itoa(int(ttl.Seconds())), lockName}
		},
	}, consulLock}
}

var consulLock = peer{
	name: "consul-lock", backend: "consul", subject: "consul lock",
	store: consulSingle, rests: 6,
	args: func(t *testing.T, addr string) []string {
		return []string{consultest.Binary(t), "lock", "-http-addr", addr, "-shell=false", "-child-exit-code", lockName}
	},
}
