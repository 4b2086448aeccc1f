package etcd_test

import (
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestBreakEveryVersion: the holder hears of it at once, the next in line leads, and
// no lease is left.
func TestBreakEveryVersion(t *testing.T) {
	t.Parallel()
	for _, version := range etcdtest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := etcdtest.Start(t, etcdtest.Options{Version: version})
			op := operate(t, s)
			a := handle(t, s.URL(), options("a"))
			token := drive.Hold(t, a).Token
			b, done := campaign(drive.Context(t), t, s.URL(), options("b"))
			breaker := handle(t, s.URL(), options("operator"))
			if err := breaker.Break(drive.Context(t), uint64(op.entries("/")[1].created)); !errors.Is(err, locks.ErrLost) {
				t.Errorf("break who waits: %v", err)
			}
			start := time.Now()
			if err := breaker.Break(drive.Context(t), token); err != nil {
				t.Fatal(err)
			}
			if all := op.entries("/"); len(all) != 1 || op.leases() != 1 {
				t.Errorf("left: %v, %d leases; want only the waiter's", all, op.leases())
			}
			checkLost(t, a, start)
			r := drive.Within(t, promptly, done)
			if r.Err != nil || r.Grant.Token <= token || r.Grant.Clean {
				t.Errorf("the next in line: %+v, %v", r.Grant, r.Err)
			}
			drive.Renew(t, b)
			drive.Release(t, b)
		})
	}
}

// TestBreakSparesOthersLeases: an entry with the lease of others can be broken, and
// their keys stay.
func TestBreakSparesOthersLeases(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	op := operate(t, s)
	lease, err := op.Grant(drive.Context(t), 60)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"/application/session", "/leaderrun/jobs%2Fnightly/1"} {
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
