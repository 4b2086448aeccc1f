package etcd_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// counts are the requests that a server has received, and the events that it has sent.
type counts struct{ grant, revoke, renew, txn, get, watch, login, events int }

func (c counts) minus(d counts) counts {
	return counts{c.grant - d.grant, c.revoke - d.revoke, c.renew - d.renew, c.txn - d.txn, c.get - d.get, c.watch - d.watch, c.login - d.login, c.events - d.events}
}

// within returns an error if any count is greater than in d.
func (c counts) within(d counts) error {
	over := c.minus(d)
	for _, n := range []int{over.grant, over.revoke, over.renew, over.txn, over.get, over.watch, over.login, over.events} {
		if n > 0 {
			return fmt.Errorf("got %+v, want at most %+v", c, d)
		}
	}
	return nil
}

func count(s *etcdtest.Server) counts {
	var c counts
	for line := range strings.Lines(s.Metrics()) {
		value := func(name string, to *int) {
			if rest, ok := strings.CutPrefix(line, name+" "); ok {
				var f float64
				_, _ = fmt.Sscan(rest, &f)
				*to = int(f)
			}
		}
		received := func(service, method, kind string, to *int) {
			value(fmt.Sprintf(`grpc_server_msg_received_total{grpc_method=%q,grpc_service="etcdserverpb.%s",grpc_type=%q}`, method, service, kind), to)
		}
		received("Lease", "LeaseGrant", "unary", &c.grant)
		received("Lease", "LeaseRevoke", "unary", &c.revoke)
		value("etcd_debugging_lease_renewed_total", &c.renew)
		received("KV", "Txn", "unary", &c.txn)
		received("KV", "Range", "unary", &c.get)
		received("Watch", "Watch", "bidi_stream", &c.watch)
		received("Auth", "Authenticate", "unary", &c.login)
		value("etcd_debugging_mvcc_events_total", &c.events)
	}
	return c
}

// settled returns the counts when they no longer change.
func settled(t *testing.T, s *etcdtest.Server) (now counts) {
	t.Helper()
	drive.Eventually(t, drive.Patience, "the server is quiet", func() bool {
		before := now
		time.Sleep(200 * time.Millisecond)
		now = count(s)
		return now == before
	})
	return now
}

// lasting returns options with a lease that is longer than any test.
func lasting(holder string) locks.Options {
	o := options(holder)
	o.TTL = 10 * time.Minute
	return o
}

// TestCost counts the requests of common operations.
func TestCost(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	open := func(path, holder string) locks.Lock {
		return drive.Open(t, etcd.OpenUnhurried, s.URL()+path, lasting(holder))
	}
	check := func(what string, most counts, f func()) {
		t.Helper()
		before := settled(t, s)
		f()
		if err := settled(t, s).minus(before).within(most); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	const renewals = 5
	long, short := open("/long", "long"), open("/short", "short")
	// The entry may be requested twice, because the first request may arrive before the one
	// for the lease. Each renewal looks at the queue.
	check("a short term", counts{grant: 1, txn: 2, revoke: 1}, func() {
		if _, err := short.Acquire(drive.Context(t), false); err != nil {
			t.Fatal(err)
		}
		drive.Release(t, short)
	})
	check("a long term", counts{grant: 1, txn: 2 + renewals, watch: 2, renew: renewals}, func() {
		if _, err := long.Acquire(drive.Context(t), false); err != nil {
			t.Fatal(err)
		}
		for range renewals {
			if err := long.Renew(drive.Context(t)); err != nil {
				t.Fatal(err)
			}
		}
	})
	check("a refused try", counts{get: 1}, func() {
		if _, err := open("/long", "refused").Acquire(drive.Context(t), true); err == nil {
			t.Fatal("a held lock was granted")
		}
	})
	check("a successful try", counts{get: 1, grant: 1, txn: 2, watch: 2}, func() {
		drive.Hold(t, open("/try", "try"))
	})
	var next <-chan drive.Result
	check("a waiter", counts{grant: 1, txn: 2 + renewals, watch: 2, renew: renewals}, func() {
		var l locks.Lock
		l, next = drive.Campaign(drive.Context(t), t, etcd.OpenUnhurried, s.URL()+"/long", lasting("waiter"))
		for range renewals {
			if err := l.Renew(drive.Context(t)); err != nil {
				t.Fatal(err)
			}
		}
	})
	// The only transaction writes the new holder's label. Of the messages on watches, two begin
	// those of a holder; others end watches, or are those of the waiter, on a slow machine.
	check("a hand-over to who is next", counts{revoke: 1, txn: 1, watch: 5, events: 3}, func() {
		drive.Release(t, long)
		if r := drive.Within(t, drive.Patience, next); r.Err != nil {
			t.Fatal(r.Err)
		}
	})
	check("an idle second", counts{}, func() { time.Sleep(time.Second) })
}

// TestCostOfLogin checks that there is one login in all, and not one for each renewal, as
// with clientv3.
func TestCostOfLogin(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	s.EnableAuth("root", etcdtest.User{Name: "user", Password: password, Prefix: "/mine/"})
	before := settled(t, s)
	l := open(t, "etcd://user:"+password+"@"+s.Addr()+"/mine", options("a"))
	drive.Hold(t, l)
	for range 5 {
		if err := l.Renew(drive.Context(t)); err != nil {
			t.Fatal(err)
		}
	}
	if got := settled(t, s).minus(before); got.login != 1 || got.renew != 5 {
		t.Errorf("got %+v; want 1 login, 5 renewals", got)
	}
}
