package etcd_test

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

func TestMain(m *testing.M) { drive.Main(m, "6") }

// open returns a handle that is closed when the test ends.
func open(t testing.TB, rawURL string, o locks.Options) locks.Lock {
	t.Helper()
	return drive.Open(t, etcd.Open, rawURL, o)
}

// handle is like open, and returns the concrete type.
func handle(t testing.TB, rawURL string, o locks.Options) *queue.Lock {
	t.Helper()
	return open(t, rawURL, o).(*queue.Lock)
}

func options(holder string) locks.Options {
	return locks.Options{Name: "jobs/nightly", Holder: holder, TTL: 10 * time.Second, ConnectTimeout: trial.Stretch(5 * time.Second), Version: "test"}
}

// An operator reads and changes a server's data during a test.
type operator struct {
	t testing.TB
	*clientv3.Client
}

func operate(t testing.TB, s *etcdtest.Server) operator {
	c := s.Client()
	t.Cleanup(func() { _ = c.Close() })
	return operator{t, c}
}

// entries returns the keys under a prefix, the oldest first.
func (o operator) entries(prefix string) []entry {
	o.t.Helper()
	resp, err := o.Get(drive.Context(o.t), prefix, clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		o.t.Fatal(err)
	}
	var all []entry
	for _, kv := range resp.Kvs {
		all = append(all, entry{string(kv.Key), string(kv.Value), clientv3.LeaseID(kv.Lease), kv.CreateRevision})
	}
	return all
}

type entry struct {
	key, value string
	lease      clientv3.LeaseID
	created    int64
}

func (o operator) delete(key string) {
	o.t.Helper()
	if _, err := o.Delete(drive.Context(o.t), key); err != nil {
		o.t.Fatal(err)
	}
}

func (o operator) put(key, value string) {
	o.t.Helper()
	if _, err := o.Put(drive.Context(o.t), key, value); err != nil {
		o.t.Fatal(err)
	}
}

func (o operator) revoke(id clientv3.LeaseID) {
	o.t.Helper()
	if _, err := o.Revoke(drive.Context(o.t), id); err != nil {
		o.t.Fatal(err)
	}
}

func (o operator) compact() {
	o.t.Helper()
	resp, err := o.Get(drive.Context(o.t), "any")
	if err != nil {
		o.t.Fatal(err)
	}
	if _, err := o.Compact(drive.Context(o.t), resp.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		o.t.Fatal(err)
	}
}

// leases returns the number of leases on the server.
func (o operator) leases() int {
	o.t.Helper()
	resp, err := o.Leases(drive.Context(o.t))
	if err != nil {
		o.t.Fatal(err)
	}
	return len(resp.Leases)
}

// campaign starts an Acquire, and returns when it waits.
func campaign(ctx context.Context, t testing.TB, rawURL string, o locks.Options) (locks.Lock, <-chan drive.Result) {
	t.Helper()
	return drive.Campaign(ctx, t, etcd.Open, rawURL, o)
}
