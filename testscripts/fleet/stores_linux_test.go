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
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

// A store is where a fleet's locks are kept.
type store struct {
	name string
	env  []string // names the store

	// A fleet's clocks run so fast that a window lasts this long.
	window time.Duration
	// rude is the share of firings, in percent, that do not wait for the lock. If waiters
	// poll, they get such a lock late.
	rude int
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
		env: []string{"LEADERRUN_BACKEND=file://" + dir}}
}

func etcdStore(t *testing.T) *store {
	s := etcdtest.Start(t, etcdtest.Options{})
	return &store{name: "etcd", window: time.Second, rude: 20,
		env: []string{"LEADERRUN_BACKEND=etcd://" + s.Addr() + "/fleet"}}
}

func zkStore(t *testing.T) *store {
	s := zktest.Start(t, zktest.Options{})
	return &store{name: "zookeeper", window: time.Second, rude: 20,
		env: []string{"LEADERRUN_BACKEND=zk://" + s.Addr() + "/fleet"}}
}

func gcsStore(t *testing.T) *store {
	s := gcstest.Start(t)
	return &store{name: "gcs", window: 1500 * time.Millisecond, rude: 80,
		env: []string{"LEADERRUN_BACKEND=gcs://" + gcstest.Bucket + "/fleet", "STORAGE_EMULATOR_HOST=" + s.Addr()}}
}

func postgresStore(t *testing.T) *store {
	s := pgtest.Start(t, pgtest.Options{})
	return &store{name: "postgres", window: time.Second, rude: 20,
		env: []string{"LEADERRUN_BACKEND=" + pgtest.URLOf(pgtest.User, s.Addr())}}
}

func mysqlStore(t *testing.T) *store {
	s := mysqltest.Start(t)
	return &store{name: "mysql", window: time.Second, rude: 20,
		env: []string{"LEADERRUN_BACKEND=" + mysqltest.URLOf(mysqltest.User, s.Addr())}}
}

func consulStore(t *testing.T) *store {
	s := consultest.Start(t, consultest.Options{})
	return &store{name: "consul", window: time.Second, rude: 20,
		env: []string{"LEADERRUN_BACKEND=consul://" + s.Addr() + "/fleet"}}
}

func azblobStore(t *testing.T) *store {
	s := azblobtest.Start(t)
	return &store{name: "azblob", window: 1500 * time.Millisecond, rude: 80,
		env: []string{"LEADERRUN_BACKEND=" + azblobtest.URL(s.Addr(), "fleet").String(), "AZURE_STORAGE_KEY=" + azblobtest.Key}}
}

func quorumStore(t *testing.T) *store {
	v := quorumtest.New(t, 3, 15*time.Second)
	v.Start()
	v.Open()
	return &store{name: "quorum", window: time.Second, rude: 20,
		env: []string{"LEADERRUN_BACKEND=" + v.URL("fleet")}}
}

func spannerStore(t *testing.T) *store {
	s := spannertest.Start(t)
	return &store{name: "spanner", window: time.Second, rude: 20,
		env: []string{"LEADERRUN_BACKEND=" + s.New(false).URL(s.Addr()).String()}}
}
