package etcd_test

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
)

// proxied returns the options and the address of a lock behind a grpc-proxy, which reaches
// the server through a network that can fail.
func proxied(t *testing.T, version string) (o locks.Options, u string, s *etcdtest.Server, between *faultproxy.Proxy) {
	s = etcdtest.Start(t, etcdtest.Options{Version: version})
	between = faultproxy.New(t, s.Addr())
	o = options("a")
	o.TTL = 20 * time.Second
	return o, "etcd://" + etcdtest.StartProxy(t, version, between.Addr()), s, between
}

// lease returns the only lease on the server.
func (o operator) lease() clientv3.LeaseID {
	o.t.Helper()
	resp, err := o.Leases(drive.Context(o.t))
	if err != nil || len(resp.Leases) != 1 {
		o.t.Fatalf("leases: %+v, %v", resp, err)
	}
	return resp.Leases[0].ID
}

// left returns an upper bound of the time left of a lease.
func (o operator) left(lease clientv3.LeaseID) time.Duration {
	o.t.Helper()
	resp, err := o.TimeToLive(drive.Context(o.t), lease)
	if err != nil {
		o.t.Fatal(err)
	}
	return time.Duration(resp.TTL+1) * time.Second
}

// TestStaleRenewal makes a grpc-proxy answer a renewal with the late answer to an earlier
// one. The lease must not be trusted for longer than it lasts.
func TestStaleRenewal(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"3.7", "3.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			o, u, s, between := proxied(t, version)
			l := open(t, u, o)
			drive.Hold(t, l)
			drive.Renew(t, l)
			op := operate(t, s)
			lease := op.lease()

			between.CutReplies()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second) // long enough for the proxy to send its request
			defer cancel()
			if err := l.Renew(ctx); err == nil {
				t.Fatal("renewed without an answer")
			}
			drive.Eventually(t, drive.Patience, "that was a while ago", func() bool { return op.left(lease) < o.TTL-3*time.Second })
			time.Sleep(200 * time.Millisecond) // the proxy sends requests every half second, so one has just been sent
			start := time.Now()
			renewed := make(chan error, 1)
			go func() { renewed <- l.Renew(drive.Context(t)) }()
			time.Sleep(50 * time.Millisecond) // the proxy receives it
			between.Heal()
			if err := drive.Within(t, drive.Patience, renewed); err != nil {
				t.Fatal(err)
			}
			if left := op.left(lease); time.Since(start)+left < o.TTL {
				t.Errorf("%v after the renewal was sent, less than %v of %v are left", time.Since(start), left, o.TTL)
			}
			drive.Release(t, l)
		})
	}
}

// TestBehindProxy holds a lock, waits for it and hands it over behind a grpc-proxy, which a
// probe reports.
func TestBehindProxy(t *testing.T) {
	t.Parallel()
	for _, version := range etcdtest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			o, u, _, _ := proxied(t, version)
			a := open(t, u, o)
			drive.Hold(t, a)
			b, done := campaign(drive.Context(t), t, u, o)
			drive.Renew(t, a)
			drive.Renew(t, b)
			drive.Release(t, a)
			if r := drive.Within(t, drive.Patience, done); r.Err != nil {
				t.Fatal(r.Err)
			}
			drive.Renew(t, b)
			drive.Release(t, b)
			found(t, probe(t, u), "proxy", "warning", u[len("etcd://"):])
		})
	}
}
