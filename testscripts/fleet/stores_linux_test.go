package fleet

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcstest"
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

// stores has one of each kind: with a lock of the system, with a queue that notifies waiters, and
// with a recipe that polls.
func stores() map[string]func(*testing.T) *store {
	return map[string]func(*testing.T) *store{"file": fileStore, "etcd": etcdStore, "gcs": gcsStore}
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

func gcsStore(t *testing.T) *store {
	s := gcstest.Start(t)
	return &store{name: "gcs", window: 1500 * time.Millisecond, rude: 80,
		env: []string{"LEADERRUN_BACKEND=gcs://" + gcstest.Bucket + "/fleet", "STORAGE_EMULATOR_HOST=" + s.Addr()}}
}
