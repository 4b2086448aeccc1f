package etcd_test

import (
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestBreakSparesOthersLeases checks that breaking an entry with the lease of others does
// not delete their keys.
func TestBreakSparesOthersLeases(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	op := operate(t, s)
	lease, err := op.Grant(drive.Context(t), 60)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"/application/session", fmt.Sprintf("/leaderrun/jobs%%2Fnightly/%016x", lease.ID)} {
		if _, err := op.Put(drive.Context(t), key, "x", clientv3.WithLease(lease.ID)); err != nil {
			t.Fatal(err)
		}
	}
	l := handle(t, s.URL(), options("operator"))
	if err := l.Break(drive.Context(t), uint64(op.entries("/leaderrun")[0].created)); err != nil {
		t.Error(err)
	}
	if all := op.entries(""); len(all) != 1 || all[0].key != "/application/session" {
		t.Errorf("left: %v", all)
	}
}
