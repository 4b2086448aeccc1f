package etcd_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
)

// promptly is "at once" on a busy machine.
const promptly = 2 * time.Second

// TestLosses takes away the lock, or the place in its queue, in all the ways in which an
// operator or the server can.
func TestLosses(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	op := operate(t, s)
	for _, how := range []struct {
		name string
		take func(e entry)
	}{
		{"deleted", func(e entry) { op.delete(e.key) }},
		{"lease revoked", func(e entry) { op.revoke(e.lease) }},
		{"overwritten", func(e entry) { op.put(e.key, e.value) }},
		{"deleted and created again", func(e entry) { op.delete(e.key); op.put(e.key, e.value) }},
	} {
		name := "/" + strings.ReplaceAll(how.name, " ", "_")
		t.Run(name[1:]+"/holder", func(t *testing.T) {
			t.Parallel()
			prefix := name + "/holder"
			l := open(t, s.URL()+prefix, options("a"))
			drive.Hold(t, l)
			start := time.Now()
			how.take(op.entries(prefix)[0])
			checkLost(t, l, start)
		})
		t.Run(name[1:]+"/waiter", func(t *testing.T) {
			t.Parallel()
			prefix := name + "/waiter"
			holder := open(t, s.URL()+prefix, options("a"))
			drive.Hold(t, holder)
			l, done := campaign(drive.Context(t), t, s.URL()+prefix, options("b"))
			start := time.Now()
			how.take(op.entries(prefix)[1])
			if r := drive.Within(t, promptly, done); !errors.Is(r.Err, locks.ErrLost) {
				t.Errorf("acquire: got %+v, %v; want ErrLost", r.Grant, r.Err)
			}
			checkLost(t, l, start)
			if err := holder.Renew(drive.Context(t)); err != nil {
				t.Errorf("the holder: %v", err)
			}
		})
	}
}

// checkLost checks that every method reports the loss, soon and from then on.
func checkLost(t *testing.T, l locks.Lock, since time.Time) {
	t.Helper()
	if err := drive.LossOf(t, l); !errors.Is(err, locks.ErrLost) || time.Since(since) > promptly {
		t.Errorf("after %v: %v", time.Since(since), err)
	}
	if err := l.Renew(drive.Context(t)); !errors.Is(err, locks.ErrLost) {
		t.Errorf("renew: %v", err)
	}
	if _, err := l.Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrLost) {
		t.Errorf("acquire again: %v", err)
	}
	drive.Release(t, l)
}

// TestLossUnseen takes away the holder's entry while its watch is cut off, and compacts, so
// that no event reports the loss.
func TestLossUnseen(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"deleted", "overwritten"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := etcdtest.Start(t, etcdtest.Options{})
			op := operate(t, s)
			p := faultproxy.New(t, s.Addr())
			l := open(t, "etcd://"+p.Addr(), options("a"))
			drive.Hold(t, l)
			watched(t, s)
			p.Refuse()
			e := op.entries("/leaderrun")[0]
			if how == "deleted" {
				op.delete(e.key)
			} else {
				op.put(e.key, e.value)
			}
			op.put("/other", "x")
			op.compact()
			p.Heal()
			if err := drive.LossOf(t, l); !errors.Is(err, locks.ErrLost) {
				t.Error(err)
			}
		})
	}
}

// watched waits until a holder watches its entry and the requests.
func watched(t *testing.T, s *etcdtest.Server) {
	t.Helper()
	drive.Eventually(t, drive.Patience, "the holder watches", func() bool {
		return strings.Contains(s.Metrics(), "etcd_debugging_mvcc_watcher_total 2\n")
	})
}

// TestGranted checks that a TTL is rounded up to whole seconds, and to the server's minimum.
func TestGranted(t *testing.T) {
	t.Parallel()
	for ttl, slow := range map[time.Duration]bool{1100 * time.Millisecond: false, time.Second: true} {
		s := etcdtest.Start(t, etcdtest.Options{Slow: slow})
		o := options("a")
		o.TTL = ttl
		if g := drive.Hold(t, open(t, s.URL(), o)); g.TTL != 2*time.Second {
			t.Errorf("%v was granted for %v, want 2s", g.TTL, ttl)
		}
	}
}
