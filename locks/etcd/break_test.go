package etcd_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/etcd/etcdtest"
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
			start := time.Now()
			if err := handle(t, s.URL(), options("operator")).Break(drive.Context(t), token); err != nil {
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

// TestBreakBesideTakeover: of many who break the same term one does, and no other
// term ends, although there is a next holder at once.
func TestBreakBesideTakeover(t *testing.T) {
	t.Parallel()
	const breakers, terms = 4, 8
	s := etcdtest.Start(t, etcdtest.Options{})
	o := options("a")
	o.TTL = time.Minute
	first := handle(t, s.URL(), o)
	token := drive.Hold(t, first).Token
	var waiters []runner
	for range terms {
		l, done := campaign(drive.Context(t), t, s.URL(), o)
		waiters = append(waiters, runner{l, done})
	}
	ops := make([]locks.Breaker, breakers)
	for i := range ops {
		ops[i] = handle(t, s.URL(), options("operator"))
	}
	for i, next := range waiters {
		errs := make([]error, breakers)
		var all sync.WaitGroup
		for j, op := range ops {
			all.Go(func() { errs[j] = op.Break(drive.Context(t), token) })
		}
		all.Wait()
		broken := 0
		for _, err := range errs {
			if err == nil {
				broken++
			} else if !errors.Is(err, locks.ErrLost) {
				t.Errorf("break: %v", err)
			}
		}
		r := drive.Within(t, drive.Patience, next.done)
		if broken != 1 || r.Err != nil || r.Grant.Token <= token {
			t.Fatalf("term %d: broken %d times, then %+v, %v", i, broken, r.Grant, r.Err)
		}
		if i+1 < len(waiters) {
			select {
			case r := <-waiters[i+1].done:
				t.Fatalf("term %d: the one after next leads, too: %+v, %v", i, r.Grant, r.Err)
			default:
			}
		}
		drive.Renew(t, next.Lock)
		token = r.Grant.Token
	}
}

// TestBreakWhatIsNot: a token that nobody has, or who only waits has, ends nothing.
func TestBreakWhatIsNot(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	op := operate(t, s)
	l := handle(t, s.URL(), options("operator"))
	breakIt := func(what string, token uint64) {
		t.Helper()
		before := op.entries("")
		if err := l.Break(drive.Context(t), token); !errors.Is(err, locks.ErrLost) {
			t.Errorf("%s: %v", what, err)
		}
		if after := op.entries(""); len(after) != len(before) {
			t.Errorf("%s: %v, then %v", what, before, after)
		}
	}
	breakIt("a free lock", 1)
	breakIt("no token", 0)
	old := handle(t, s.URL(), options("old"))
	token := drive.Hold(t, old).Token
	drive.Release(t, old)
	breakIt("a released lock", token)
	holder := handle(t, s.URL(), options("holder"))
	now := drive.Hold(t, holder).Token
	campaign(drive.Context(t), t, s.URL(), options("waiter"))
	breakIt("an old term", token)
	breakIt("a term to come", now+1)
	breakIt("who waits", uint64(op.entries("/")[1].created))
	drive.Renew(t, holder)
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
