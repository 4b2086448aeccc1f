package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/kit/record"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
)

// TestEveryVersion goes through the life of a queue on each version of etcd.
func TestEveryVersion(t *testing.T) {
	t.Parallel()
	for _, version := range etcdtest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := etcdtest.Start(t, etcdtest.Options{Version: version})
			op := operate(t, s)
			first := open(t, s.URL(), options("first"))
			g := drive.Hold(t, first)
			if entries := op.entries("/"); len(entries) != 1 || uint64(entries[0].created) != g.Token {
				t.Errorf("the entries are %v; want one, created at the token %d", entries, g.Token)
			}
			if g.TTL != 10*time.Second || g.Clean {
				t.Errorf("got %+v", g)
			}
			_, err := open(t, s.URL(), options("refused")).Acquire(drive.Context(t), true)
			held, ok := errors.AsType[*locks.HeldError](err)
			if !ok || held.Status.Holder != "first" || held.Status.Token != g.Token || !held.Status.Held {
				t.Errorf("try on a held lock: %v", err)
			}
			second, done := campaign(drive.Context(t), t, s.URL(), options("second"))
			third, done3 := campaign(drive.Context(t), t, s.URL(), options("third"))
			for _, l := range []locks.Lock{first, second, third} {
				if err := l.Renew(drive.Context(t)); err != nil {
					t.Errorf("renew: %v", err)
				}
			}
			drive.Release(t, first)
			r := drive.Within(t, drive.Patience, done)
			if r.Err != nil || r.Grant.Token <= g.Token {
				t.Fatalf("after a release: %+v, %v", r.Grant, r.Err)
			}
			op.delete(op.entries("/")[0].key)
			if err := drive.LossOf(t, second); !errors.Is(err, locks.ErrLost) {
				t.Errorf("lost: %v", err)
			}
			r3 := drive.Within(t, drive.Patience, done3)
			if r3.Err != nil || r3.Grant.Token <= r.Grant.Token {
				t.Fatalf("after a deletion: %+v, %v", r3.Grant, r3.Err)
			}
			if err := second.Renew(drive.Context(t)); !errors.Is(err, locks.ErrLost) {
				t.Errorf("renew after the loss: %v", err)
			}
			drive.Release(t, second)
			drive.Release(t, third)
			if left := op.entries(""); len(left) != 0 || op.leases() != 0 {
				t.Errorf("left behind: %v, %d leases", left, op.leases())
			}
		})
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	op := operate(t, s)
	l := open(t, s.URL()+"/some/prefix", options("me"))
	drive.Hold(t, l)
	all := op.entries("")
	if len(all) != 1 || all[0].key != fmt.Sprintf("/some/prefix/jobs%%2Fnightly/%016x", int64(all[0].lease)) {
		t.Fatalf("got %+v", all)
	}
	if got := record.Status([]byte(all[0].value), 1); got.Holder != "me" || got.TTL != 10*time.Second {
		t.Errorf("got %+v", got)
	}
	drive.Release(t, l)
}

// TestSinceIsOfTheTerm: after a wait, the record says since when we lead.
func TestSinceIsOfTheTerm(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	op := operate(t, s)
	first := open(t, s.URL(), options("first"))
	drive.Hold(t, first)
	second, done := campaign(drive.Context(t), t, s.URL(), options("second"))
	before := op.entries("/")[1]
	drive.Release(t, first)
	r := drive.Within(t, drive.Patience, done)
	drive.Eventually(t, drive.Patience, "the record is renewed", func() bool { return op.entries("/")[0].value != before.value })
	after := op.entries("/")[0]
	if after.key != before.key || after.lease != before.lease || uint64(after.created) != r.Grant.Token {
		t.Errorf("the entry has changed: %+v, then %+v", before, after)
	}
	select {
	case err := <-second.Lost():
		t.Errorf("our own record counts as a loss: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	drive.Release(t, second)
}

func TestWaitingTells(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	first := open(t, s.URL(), options("first"))
	g := drive.Hold(t, first)
	told := make(chan locks.Waiting, 100)
	var all []locks.Lock
	for i := range 4 {
		o := options(fmt.Sprint("waiter ", i))
		o.Waiting = func(w locks.Waiting) { told <- w }
		l := open(t, s.URL(), o)
		go func() { _, _ = l.Acquire(drive.Context(t), false) }()
		w := drive.Within(t, drive.Patience, told)
		if w.Status.Holder != "first" || w.Status.Token != g.Token || w.Lease != 10*time.Second || w.Position != i+1 || w.Status.Waiters != i+1 {
			t.Errorf("waiter %d was told %+v", i, w)
		}
		all = append(all, l)
	}
	drive.Release(t, all[1]) // waiter 2 moves up, and is told that it does not lead
	if w := drive.Within(t, drive.Patience, told); w.Status.Holder != "first" || w.Status.Waiters != 3 {
		t.Errorf("the one behind it was told %+v", w)
	}
	for _, l := range append(all, first) {
		drive.Release(t, l)
	}
}

// TestOneReleaseWakesOne counts what 200 waiters ask of the server when the
// lock is released, and checks the order in which they are served.
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
	// For each: the release; a look at the queue, and perhaps our record; the end
	// of up to two watches; and the events of these to the next in line and to
	// the holder's own watch.
	most := counts{revoke: served, txn: 2 * served, watch: 3 * served, events: 3 * served}
	if got.within(most) != nil || got.revoke != served || got.txn < served {
		t.Errorf("%d releases with %d waiters: %+v, want at most %+v", served, waiters, got, most)
	}
	cancel()
}

// TestCompactionWhileWaiting compacts what a waiter's watches began from, with
// the network cut so that they have to begin again.
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
	drive.Release(t, middle) // and the last one's predecessor has gone unseen
	op.put("/other", "x")
	op.compact()
	p.Heal()
	if r := drive.Within(t, drive.Patience, done); r.Err != nil {
		t.Fatal(r.Err)
	}
	op.delete(op.entries("/leaderrun/")[0].key) // its own entry is watched
	if err := drive.LossOf(t, last); !errors.Is(err, locks.ErrLost) {
		t.Error(err)
	}
}
