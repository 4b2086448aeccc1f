package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
)

// TestEveryVersion tries every operation on each version of etcd.
func TestEveryVersion(t *testing.T) {
	t.Parallel()
	for _, version := range etcdtest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := etcdtest.Start(t, etcdtest.Options{Version: version})
			op := operate(t, s)
			u := s.URL() + "/some/prefix"
			first, w := handle(t, u, options("first")), handle(t, u, options("refused"))
			g := drive.Hold(t, first)
			entries := op.entries("/")
			if len(entries) != 1 || uint64(entries[0].created) != g.Token || entries[0].key != fmt.Sprintf("/some/prefix/jobs%%2Fnightly/%016x", int64(entries[0].lease)) {
				t.Errorf("the entries are %v; want one, created at the token %d", entries, g.Token)
			}
			if g.TTL != 10*time.Second || g.Clean {
				t.Errorf("got %+v", g)
			}
			_, err := w.Acquire(drive.Context(t), true)
			held, ok := errors.AsType[*locks.HeldError](err)
			if !ok || held.Status.Holder != "first" || held.Status.Token != g.Token || !held.Status.Held || held.Status.TTL != g.TTL {
				t.Errorf("try on a held lock: %v", err)
			}
			second, done := campaign(drive.Context(t), t, u, options("second"))
			third, done3 := campaign(drive.Context(t), t, u, options("third"))
			if st := drive.Inspect(t, w); st.Left <= 0 || st.Left > g.TTL || len(st.Queue) != 2 {
				t.Errorf("inspected %+v", st)
			}
			for _, l := range []locks.Lock{first, second, third} {
				drive.Renew(t, l)
			}
			drive.Release(t, first)
			r := drive.Within(t, drive.Patience, done)
			if r.Err != nil || r.Grant.Token <= g.Token {
				t.Fatalf("after a release: %+v, %v", r.Grant, r.Err)
			}
			if err := w.Break(drive.Context(t), uint64(op.entries("/")[1].created)); !errors.Is(err, locks.ErrLost) {
				t.Errorf("break a waiter: %v", err)
			}
			start := time.Now()
			if err := w.Break(drive.Context(t), r.Grant.Token); err != nil {
				t.Fatal(err)
			}
			if op.leases() != 1 {
				t.Errorf("%d leases are left; want only the waiter's", op.leases())
			}
			checkLost(t, second, start)
			r3 := drive.Within(t, drive.Patience, done3)
			if r3.Err != nil || r3.Grant.Token <= r.Grant.Token || r3.Grant.Clean {
				t.Fatalf("after a break: %+v, %v", r3.Grant, r3.Err)
			}
			if err := third.(locks.Recorder).SetRecord(drive.Context(t), []byte("x")); err != nil {
				t.Error(err)
			}
			if all, _ := drive.List(t, w); len(all) != 1 || string(all["jobs/nightly"].Record) != "x" {
				t.Errorf("listed: %+v", all)
			}
			drive.Release(t, third)
			if err := w.Forget(drive.Context(t)); err != nil {
				t.Error(err)
			}
			if left := op.entries(""); len(left) != 0 || op.leases() != 0 {
				t.Errorf("left behind: %v, %d leases", left, op.leases())
			}
		})
	}
}

// TestOneReleaseWakesOne counts the requests of 200 waiters when the lock is released, and
// checks the order in which they get it.
func TestOneReleaseWakesOne(t *testing.T) {
	t.Parallel()
	const waiters, served = 200, 10
	s := etcdtest.Start(t, etcdtest.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := func(i int) locks.Options {
		o := options(fmt.Sprint("waiter ", i))
		o.TTL = time.Minute // nobody renews here
		return o
	}
	holder := open(t, s.URL(), o(-1))
	drive.Hold(t, holder)
	locked := make(chan int, waiters)
	all := make([]locks.Lock, waiters)
	for i := range all {
		var done <-chan drive.Result
		all[i], done = campaign(ctx, t, s.URL(), o(i))
		go func() {
			if r := <-done; r.Err == nil {
				locked <- i
			}
		}()
	}
	before := settled(t, s)
	for i := range served {
		drive.Release(t, holder)
		if got := drive.Within(t, drive.Patience, locked); got != i {
			t.Fatalf("waiter %d has the lock, want %d", got, i)
		}
		holder = all[i]
	}
	got := settled(t, s).minus(before)
	// For each release: the release itself; a look at the queue, and perhaps our label, for
	// which the next in line looks and watches again; the end of up to two watches; and the
	// events for the watches of the next in line and of the holder.
	most := counts{revoke: served, txn: 3 * served, watch: 5 * served, events: 4 * served}
	if got.within(most) != nil || got.revoke != served || got.txn < served-1 {
		t.Errorf("%d releases with %d waiters: %+v, want at most %+v", served, waiters, got, most)
	}
	cancel()
}

// TestCompactionWhileWaiting cuts the network, so that a waiter's watches have to begin
// again, and compacts the revisions from which they would.
func TestCompactionWhileWaiting(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	op := operate(t, s)
	p := faultproxy.New(t, s.Addr())
	first := open(t, s.URL(), options("first"))
	drive.Hold(t, first)
	middle, middleDone := campaign(drive.Context(t), t, s.URL(), options("middle"))
	last, done := campaign(drive.Context(t), t, "etcd://"+p.Addr(), options("last"))
	p.Refuse()
	drive.Release(t, first)
	if r := drive.Within(t, drive.Patience, middleDone); r.Err != nil {
		t.Fatal(r.Err)
	}
	drive.Release(t, middle) // the last one does not see that its predecessor is gone
	op.put("/other", "x")
	op.compact()
	p.Heal()
	if r := drive.Within(t, drive.Patience, done); r.Err != nil {
		t.Fatal(r.Err)
	}
	op.delete(op.entries("/leaderrun/")[0].key) // it watches its own entry again
	if err := drive.LossOf(t, last); !errors.Is(err, locks.ErrLost) {
		t.Error(err)
	}
}
