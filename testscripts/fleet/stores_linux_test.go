package fleet

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend/azblob/azblobtest"
	"github.com/leaderrun/leaderrun/locks/backend/consul/consultest"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/backend/mysql/mysqltest"
	"github.com/leaderrun/leaderrun/locks/backend/postgres/pgtest"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/quorumtest"
	"github.com/leaderrun/leaderrun/locks/backend/spanner/spannertest"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zktest"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

// A store is where a fleet's locks are kept.
type store struct {
	name    string
	server  server                     // nil if there is none
	addr    string                     // of the server
	env     func(addr string) []string // names the store at this address
	proxies []*faultproxy.Proxy        // in front of the server, one for each host; may be empty

	// A fleet's clocks run so fast that a window lasts this long.
	window time.Duration
	// rude is the share of firings, in percent, that do not wait for the lock. If waiters
	// poll, they get such a lock late.
	rude int
	// poll is the longest time between two looks of a waiter.
	poll time.Duration
}

// A server can be made to fail.
type server interface {
	Stop()
	Start()
}

// A pauser can also be frozen.
type pauser interface {
	Pause()
	Resume()
}

// stores returns all stores. A short run has one of each kind: with a lock of the system, with
// a queue that notifies waiters, and with a recipe that polls.
func stores() map[string]func(*testing.T) *store {
	all := map[string]func(*testing.T) *store{"file": fileStore, "etcd": etcdStore, "gcs": gcsStore}
	if tester.Long() || os.Getenv(times) != "" {
		maps.Copy(all, map[string]func(*testing.T) *store{
			"zookeeper": zkStore, "postgres": postgresStore, "azblob": azblobStore, "consul": consulStore, "quorum": quorumStore, "mysql": mysqlStore, "spanner": spannerStore,
		})
	}
	return all
}

func fileStore(t *testing.T) *store {
	dir := filepath.Join(t.TempDir(), "locks")
	return &store{name: "file", window: time.Second, rude: 20,
		env: func(string) []string { return []string{"LEADERRUN_BACKEND=file://" + dir} }}
}

func etcdStore(t *testing.T) *store {
	s := etcdtest.Start(t, etcdtest.Options{})
	return &store{name: "etcd", server: s, addr: s.Addr(), window: time.Second, rude: 20,
		env: func(addr string) []string { return []string{"LEADERRUN_BACKEND=etcd://" + addr + "/fleet"} }}
}

func zkStore(t *testing.T) *store {
	s := zktest.Start(t, zktest.Options{})
	return &store{name: "zookeeper", server: s, addr: s.Addr(), window: time.Second, rude: 20,
		env: func(addr string) []string { return []string{"LEADERRUN_BACKEND=zk://" + addr + "/fleet"} }}
}

func gcsStore(t *testing.T) *store {
	s := gcstest.Start(t)
	return &store{name: "gcs", server: s, addr: s.Addr(), window: 1500 * time.Millisecond, rude: 80, poll: 3 * time.Second,
		env: func(addr string) []string {
			return []string{"LEADERRUN_BACKEND=gcs://" + gcstest.Bucket + "/fleet", "STORAGE_EMULATOR_HOST=" + addr}
		}}
}

func postgresStore(t *testing.T) *store {
	s := pgtest.Start(t, pgtest.Options{})
	return &store{name: "postgres", server: s, addr: s.Addr(), window: time.Second, rude: 20,
		env: func(addr string) []string { return []string{"LEADERRUN_BACKEND=" + pgtest.URLOf(pgtest.User, addr)} }}
}

func mysqlStore(t *testing.T) *store {
	s := mysqltest.Start(t)
	return &store{name: "mysql", server: s, addr: s.Addr(), window: time.Second, rude: 20,
		env: func(addr string) []string {
			return []string{"LEADERRUN_BACKEND=" + mysqltest.URLOf(mysqltest.User, addr)}
		}}
}

func consulStore(t *testing.T) *store {
	s := consultest.Start(t, consultest.Options{})
	return &store{name: "consul", server: s, addr: s.Addr(), window: time.Second, rude: 20,
		env: func(addr string) []string { return []string{"LEADERRUN_BACKEND=consul://" + addr + "/fleet"} }}
}

// azblobStore grants leases of 15 s, 9 s more than services ask for.
func azblobStore(t *testing.T) *store {
	s := azblobtest.Start(t)
	return &store{name: "azblob", server: s, addr: s.Addr(), window: 1500 * time.Millisecond, rude: 80, poll: 12 * time.Second,
		env: func(addr string) []string {
			return []string{"LEADERRUN_BACKEND=" + azblobtest.URL(addr, "fleet").String(), "AZURE_STORAGE_KEY=" + azblobtest.Key}
		}}
}

func quorumStore(t *testing.T) *store {
	v := quorumtest.New(t, 3, 15*time.Second)
	v.Start()
	v.Open()
	return &store{name: "quorum", window: time.Second, rude: 20,
		env: func(string) []string { return []string{"LEADERRUN_BACKEND=" + v.URL("fleet")} }}
}

func spannerStore(t *testing.T) *store {
	s := spannertest.Start(t)
	d, front := s.New(false), s.Front(t)
	return &store{name: "spanner", server: front, addr: front.Addr(), window: time.Second, rude: 20, poll: 1500 * time.Millisecond,
		env: func(addr string) []string { return []string{"LEADERRUN_BACKEND=" + d.URL(addr).String()} }}
}

// behindProxies puts a proxy in front of the server for each host.
func (s *store) behindProxies(t *testing.T, hosts int) {
	if s.server == nil {
		return
	}
	for range hosts {
		s.proxies = append(s.proxies, faultproxy.New(t, s.addr))
	}
}

// of returns the environment that names the store to a host.
func (s *store) of(host int) []string {
	if len(s.proxies) > 0 {
		return s.env(s.proxies[host].Addr())
	}
	return s.env(s.addr)
}
