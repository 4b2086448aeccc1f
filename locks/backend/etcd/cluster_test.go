package etcd_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
)

// TestCluster fails one member of three after another, the leader and a follower, while
// there are a holder and waiters. Nobody loses an entry, the lock is handed over during
// the failure, and never are there two leaders.
func TestCluster(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		hurt func(t *testing.T, c etcdtest.Cluster, s *etcdtest.Server, p *faultproxy.Proxy) (heal func())
	}{
		{"killed", func(_ *testing.T, _ etcdtest.Cluster, s *etcdtest.Server, _ *faultproxy.Proxy) func() {
			s.Kill()
			return s.Start
		}},
		{"paused", func(_ *testing.T, _ etcdtest.Cluster, s *etcdtest.Server, _ *faultproxy.Proxy) func() {
			s.Pause()
			return s.Resume
		}},
		{"cut off", func(_ *testing.T, _ etcdtest.Cluster, _ *etcdtest.Server, p *faultproxy.Proxy) func() {
			p.CutAll()
			return p.Heal
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := etcdtest.StartCluster(t, 3, etcdtest.Options{})
			proxies := map[*etcdtest.Server]*faultproxy.Proxy{}
			u := "etcd://"
			for _, s := range c {
				proxies[s] = faultproxy.New(t, s.Addr())
				u += proxies[s].Addr() + ","
			}
			u = u[:len(u)-1]
			relay := newRelay(t, u)
			for _, leader := range []bool{true, false} {
				s := c.Leader()
				if !leader {
					s = c[0]
					if s == c.Leader() {
						s = c[1]
					}
				}
				heal := tt.hurt(t, c, s, proxies[s])
				relay.handOver()
				heal()
				relay.handOver()
			}
			relay.finish()
		})
	}
}

// A relay is one holder of the lock and some waiters. All of them renew as the core does.
type relay struct {
	t       *testing.T
	u       string
	holder  locks.Lock
	token   uint64
	waiters []runner
	wg      sync.WaitGroup
	ctx     context.Context
	cancel  context.CancelFunc
}

type runner struct {
	locks.Lock
	done <-chan drive.Result
}

func newRelay(t *testing.T, u string) *relay {
	r := &relay{t: t, u: u}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	t.Cleanup(func() { r.cancel(); r.wg.Wait() })
	r.holder = open(t, u, r.options())
	g, err := r.holder.Acquire(drive.Context(t), false)
	if err != nil {
		t.Fatal(err)
	}
	r.token = g.Token
	r.keepRenewing(r.holder)
	for range 6 {
		l, done := campaign(r.ctx, t, u, r.options())
		r.keepRenewing(l)
		r.waiters = append(r.waiters, runner{l, done})
	}
	return r
}

func (r *relay) options() locks.Options {
	o := options("runner")
	o.TTL = 15 * time.Second
	return o
}

// keepRenewing renews every second, with attempts of at most two seconds.
func (r *relay) keepRenewing(l locks.Lock) {
	r.wg.Go(func() {
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-r.ctx.Done():
				tick.Stop()
				return
			case err := <-l.Lost():
				r.t.Errorf("lost: %v", err)
			case <-tick.C:
			}
			ctx, cancel := context.WithTimeout(r.ctx, 2*time.Second)
			if err := l.Renew(ctx); errors.Is(err, locks.ErrLost) {
				cancel()
				return // released, or reported above
			}
			cancel()
		}
	})
}

// handOver releases the lock and waits for the next in line.
func (r *relay) handOver() {
	r.t.Helper()
	start := time.Now()
	ctx, cancel := context.WithTimeout(r.ctx, 10*time.Second)
	defer cancel()
	if err := r.holder.Release(ctx); err != nil {
		r.t.Errorf("release: %v", err)
	}
	released := time.Since(start)
	next := r.waiters[0]
	got := drive.Within(r.t, drive.Patience, next.done)
	if got.Err != nil {
		r.t.Fatalf("the next in line: %v", got.Err)
	}
	if got.Grant.Token <= r.token {
		r.t.Errorf("token %d after %d", got.Grant.Token, r.token)
	}
	for _, w := range r.waiters[1:] {
		select {
		case other := <-w.done:
			r.t.Fatalf("somebody else: %+v, %v", other.Grant, other.Err)
		default:
		}
	}
	r.t.Logf("released after %v, handed over after %v", released.Round(time.Millisecond), got.At.Sub(start).Round(time.Millisecond))
	r.holder, r.token, r.waiters = next.Lock, got.Grant.Token, r.waiters[1:]
}

func (r *relay) finish() {
	r.t.Helper()
	drive.Release(r.t, r.holder)
	for _, w := range r.waiters {
		drive.Release(r.t, w.Lock)
		drive.Within(r.t, drive.Patience, w.done) // it may have led briefly
	}
}

// TestQuorumLost checks that without a quorum nobody gets the lock, and no loss is
// reported. Everything continues when the quorum is back.
func TestQuorumLost(t *testing.T) {
	t.Parallel()
	c := etcdtest.StartCluster(t, 3, etcdtest.Options{})
	o := options("a")
	o.ConnectTimeout = time.Second
	o.TTL = time.Minute
	holder := open(t, c.URL(), o)
	if _, err := holder.Acquire(drive.Context(t), false); err != nil {
		t.Fatal(err)
	}
	waiter, done := campaign(drive.Context(t), t, c.URL(), o)
	c[1].Kill()
	c[2].Kill()
	drive.Eventually(t, drive.Patience, "a renewal fails", func() bool { // a leader without followers notices this after a while
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		err := holder.Renew(ctx)
		if errors.Is(err, locks.ErrLost) {
			t.Fatal(err)
		}
		return err != nil
	})
	for _, try := range []bool{true, false} {
		start := time.Now()
		_, err := open(t, c.URL(), o).Acquire(drive.Context(t), try)
		if took := time.Since(start); !errors.Is(err, locks.ErrUnavailable) || took > o.ConnectTimeout+promptly {
			t.Errorf("acquire without a quorum, after %v: %v", took, err)
		}
	}
	c[1].Start()
	c.Leader()
	if err := holder.Renew(drive.Context(t)); err != nil {
		t.Errorf("renew: %v", err)
	}
	drive.Release(t, holder)
	if r := drive.Within(t, drive.Patience, done); r.Err != nil {
		t.Error(r.Err)
	}
	drive.Release(t, waiter)
}
