//go:build bench && linux

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/consul"
	"github.com/leaderrun/leaderrun/locks/backend/consul/consultest"
	"github.com/leaderrun/leaderrun/locks/backend/etcd"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/backend/kubernetes"
	"github.com/leaderrun/leaderrun/locks/backend/kubernetes/kubetest"
	"github.com/leaderrun/leaderrun/locks/backend/postgres"
	"github.com/leaderrun/leaderrun/locks/backend/postgres/pgtest"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zktest"
)

// A store is a server that keeps locks.
type store struct {
	name    string
	url     func(addr string) string // with the server's address, or that of a proxy
	addr    string                   // "127.0.0.1:port"
	open    locks.Opener
	records func() int // how many entries of ours it has
}

// storeKinds start a server each, with room for many clients.
var storeKinds = []func(*testing.T) store{etcdRecords, zkRecords, consulRecords, postgresRecords, kubernetesRecords}

func at(scheme string) func(string) string { return func(addr string) string { return scheme + addr } }

func etcdRecords(t *testing.T) store {
	s := etcdtest.Start(t, etcdtest.Options{})
	client := s.Client()
	t.Cleanup(func() { _ = client.Close() })
	return store{"etcd", at("etcd://"), s.Addr(), etcd.Open, func() int {
		keys, err := client.Get(context.Background(), "", clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			t.Fatal(err)
		}
		leases, err := client.Leases(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return int(keys.Count) + len(leases.Leases)
	}}
}

func zkRecords(t *testing.T) store {
	s := zktest.Start(t, zktest.Options{})
	client := s.Client()
	t.Cleanup(client.Close)
	return store{"zookeeper", at("zk://"), s.Addr(), zookeeper.Open, func() int { return nodes(t, client, "/leaderrun") }}
}

// nodes counts a node and those below it.
func nodes(t *testing.T, c *zk.Conn, path string) (n int) {
	t.Helper()
	names, _, err := c.Children(path)
	if err == zk.ErrNoNode {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		n += nodes(t, c, path+"/"+name)
	}
	return n + 1
}

func consulRecords(t *testing.T) store {
	s := consultest.Start(t, consultest.Options{HCL: []string{`limits { http_max_conns_per_client = 10000 }`}})
	return store{"consul", at("consul://"), s.Addr(), consul.Open, func() int {
		var keys, sessions []any
		for path, list := range map[string]*[]any{"/v1/kv/?recurse": &keys, "/v1/session/list": &sessions} {
			if err := json.Unmarshal([]byte(s.Ask(http.MethodGet, path, "")), list); err != nil {
				t.Fatal(err)
			}
		}
		return len(keys) + len(sessions)
	}}
}

func postgresRecords(t *testing.T) store {
	s := pgtest.Start(t, pgtest.Options{Settings: []string{"max_connections = 2500"}})
	return store{"postgres", func(addr string) string { return pgtest.URLOf(pgtest.User, addr) }, s.Addr(), postgres.Open, func() int {
		n, err := strconv.Atoi(s.Exec("SELECT count(*) FROM leaderrun_locks")[0][0])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}}
}

func kubernetesRecords(t *testing.T) store {
	s := kubetest.Start(t)
	namespace := s.Namespace()
	url := func(addr string) string { return s.URL(addr, namespace, kubetest.AsAdmin()).String() }
	return store{"kubernetes", url, s.Addr(), kubernetes.Open, func() int {
		return strings.Count(s.Do(http.MethodGet, kubetest.Leases(namespace), nil), `"uid"`)
	}}
}

// handle opens one contender of a lock, in this process.
func (s store) handle(t *testing.T, addr string, o locks.Options) locks.Lock {
	t.Helper()
	u, err := url.Parse(s.url(addr))
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.open(t.Context(), u, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// fileRecords is the backend that has no server.
func fileRecords(t *testing.T) store {
	dir := t.TempDir()
	return store{name: "file", url: func(string) string { return "file://" + dir }, records: func() int { return entries(t, dir) }}
}

// entries counts what a directory has.
func entries(t *testing.T, dir string) int {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(fmt.Errorf("count files: %w", err))
	}
	return len(all)
}
