package etcd_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// connected returns a handle that has a connection, so that a cut affects its requests and
// not the connecting.
func connected(t *testing.T, s *etcdtest.Server, p *faultproxy.Proxy, o locks.Options) locks.Lock {
	t.Helper()
	other := open(t, s.URL(), o)
	drive.Hold(t, other)
	l := open(t, "etcd://"+p.Addr(), o)
	if _, err := l.Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrHeld) {
		t.Fatalf("try on a held lock: %v", err)
	}
	drive.Release(t, other)
	return l
}

// TestAcquireRepliesLost cuts the replies to the requests for lease and entry. The server
// has carried them out. Acquire must find that out, and not wait for its own entry.
func TestAcquireRepliesLost(t *testing.T) {
	t.Parallel()
	for _, try := range []bool{true, false} {
		t.Run(map[bool]string{true: "try", false: "wait"}[try], func(t *testing.T) {
			t.Parallel()
			s := etcdtest.Start(t, etcdtest.Options{})
			op := operate(t, s)
			p := faultproxy.New(t, s.Addr())
			l := connected(t, s, p, options("a"))
			p.Delay(100 * time.Millisecond) // with try, the answer to the first read still arrives
			done := make(chan drive.Result, 1)
			go func() {
				g, err := l.Acquire(drive.Context(t), try)
				done <- drive.Result{Grant: g, Err: err}
			}()
			drive.Eventually(t, drive.Patience, "the requests arrive", func() bool { return op.leases() == 1 })
			p.CutReplies()
			p.Reset() // answers under way are lost
			p.Heal()
			r := drive.Within(t, promptly, done)
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			if all := op.entries("/"); len(all) != 1 || uint64(all[0].created) != r.Grant.Token || r.Grant.TTL != 10*time.Second {
				t.Errorf("granted %+v, the entries are %v", r.Grant, all)
			}
			if err := l.Renew(drive.Context(t)); err != nil {
				t.Error(err)
			}
			drive.Release(t, l)
			if len(op.entries("/")) != 0 || op.leases() != 0 {
				t.Errorf("left: %v, %d leases", op.entries("/"), op.leases())
			}
		})
	}
}

// TestAcquireUnresolved makes a cut that lasts longer than the connect timeout. A release, once it
// is over, removes what the campaign has left.
func TestAcquireUnresolved(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	op := operate(t, s)
	p := faultproxy.New(t, s.Addr())
	o := options("a")
	o.ConnectTimeout = time.Second
	l := connected(t, s, p, o)
	p.CutReplies()
	done := make(chan error, 1)
	start := time.Now()
	go func() { _, err := l.Acquire(drive.Context(t), false); done <- err }()
	drive.Eventually(t, drive.Patience, "the requests arrive", func() bool { return op.leases() == 1 })
	p.CutAll() // so that it cannot be undone either
	err := drive.Within(t, drive.Patience, done)
	if took := time.Since(start); !errors.Is(err, locks.ErrUnavailable) || took > o.ConnectTimeout+promptly {
		t.Errorf("after %v: %v", took, err)
	}
	if op.leases() != 1 {
		t.Error("the lease has ended before its time")
	}
	if err := l.Renew(drive.Context(t)); !errors.Is(err, locks.ErrNoLease) {
		t.Errorf("renew after a failed acquire: %v", err)
	}
	p.Reset()
	p.Heal()
	drive.Eventually(t, drive.Patience, "it connects again, and releases", func() bool {
		return l.Release(drive.Context(t)) == nil
	})
	if all := op.entries("/"); len(all) != 0 || op.leases() != 0 {
		t.Errorf("left: %v, %d leases", all, op.leases())
	}
}

// TestOneEndpointSilent has two paths to the cluster, of which one falls silent while in
// use. Requests use the other one in time.
func TestOneEndpointSilent(t *testing.T) {
	t.Parallel()
	trial.Steady(t, oneEndpointSilent)
}

func oneEndpointSilent(t testing.TB, scale int) {
	s := etcdtest.Start(t, etcdtest.Options{})
	good, bad := faultproxy.New(t, s.Addr()), faultproxy.New(t, s.Addr())
	both := "etcd://" + good.Addr() + "," + bad.Addr()
	o := options("a")
	o.ConnectTimeout = 2 * time.Second
	l, other := open(t, both, o), open(t, both+"/other", o)
	drive.Eventually(t, drive.Patience, "connected", func() bool { return good.Open() == 2 && bad.Open() == 2 })
	drive.Hold(t, l)
	o.TTL = time.Minute // the waiter does not renew
	_, done := campaign(drive.Context(t), t, both, o)
	bad.CutAll()
	failed := 0
	for range 6 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(scale)*500*time.Millisecond)
		if err := l.Renew(ctx); errors.Is(err, locks.ErrLost) {
			t.Fatal(err)
		} else if err != nil {
			failed++
		}
		cancel()
	}
	if failed > 4 { // requests go to both in turn, and so do other requests
		t.Errorf("%d of 6 renewals failed", failed)
	}
	if _, err := other.Acquire(drive.Context(t), false); err != nil { // at least one of its requests uses the silent path
		t.Errorf("acquire with one of two endpoints: %v", err)
	}
	drive.Release(t, other)
	drive.Release(t, l)
	released := time.Now()
	// The waiter's watch may also have fallen silent, which pings find out.
	if r := drive.Within(t, 20*time.Second, done); r.Err != nil {
		t.Error(r.Err)
	} else {
		t.Logf("the waiter got the lock after %v", r.At.Sub(released))
	}
}
