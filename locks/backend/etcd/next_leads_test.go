package etcd

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// A waiting is an Acquire under way.
type waiting struct {
	opened
	waits chan locks.Waiting
	got   chan drive.Result
}

// waits begins an Acquire, and returns when it waits at a position.
func (h *hanging) waits(t *testing.T, position int) waiting {
	t.Helper()
	w := waiting{waits: make(chan locks.Waiting, 100), got: make(chan drive.Result, 1)}
	w.opened = h.open(t, "waiter", func(now locks.Waiting) { w.waits <- now })
	go func() {
		g, err := w.Acquire(drive.Context(t), false)
		w.got <- drive.Result{Grant: g, Err: err}
	}()
	w.at(t, position)
	return w
}

// at waits until the waiter looks again, and checks its position.
func (w *waiting) at(t *testing.T, position int) {
	t.Helper()
	if now := drive.Within(t, drive.Patience, w.waits); now.Position != position {
		t.Fatalf("its position is %d, want %d", now.Position, position)
	}
}

// leads waits until the waiter leads.
func (w *waiting) leads(t *testing.T) {
	t.Helper()
	if r := drive.Within(t, drive.Patience, w.got); r.Err != nil {
		t.Fatal(r.Err)
	}
}

// TestNextNeedsNoAnswer checks that who is next leads as soon as the head's entry is gone,
// though the server answers no request: first a waiter that has found only the head before
// it, and then those that became next while they waited.
func TestNextNeedsNoAnswer(t *testing.T) {
	t.Parallel()
	for _, version := range etcdtest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			h := hang(t, etcdtest.Start(t, etcdtest.Options{Version: version}))
			head := h.open(t, "head", nil)
			drive.Hold(t, head)
			all := []waiting{h.waits(t, 1), h.waits(t, 2), h.waits(t, 3)}
			for i, w := range all {
				if i > 0 {
					w.at(t, 1) // the one before it leads, and has written its label
				}
				h.stuck.Store(true)
				drive.Release(t, head)
				w.leads(t)
				h.stuck.Store(false)
				head = w.opened
			}
		})
	}
}

// TestNextMissesNothing checks that who is next learns of what happened before its watch
// began.
func TestNextMissesNothing(t *testing.T) {
	t.Parallel()
	h := hang(t, etcdtest.Start(t, etcdtest.Options{}))
	head := h.open(t, "head", nil)
	drive.Hold(t, head)
	h.late.Store(true)
	w := h.waits(t, 1)
	drive.Release(t, head)
	h.late.Store(false)
	w.leads(t)
}

// TestNextOfTies checks that of two entries that were created in one step, both go before
// ours.
func TestNextOfTies(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	c := s.Client()
	defer c.Close()
	h := &hanging{addr: s.Addr()}
	queue := h.open(t, "any", nil).etcd.queue
	var keys [2]string
	var puts []clientv3.Op
	for i := range keys {
		lease, err := c.Grant(drive.Context(t), 60)
		if err != nil {
			t.Fatal(err)
		}
		keys[i] = fmt.Sprintf("%s%016x", queue, lease.ID)
		puts = append(puts, clientv3.OpPut(keys[i], "", clientv3.WithLease(lease.ID)))
	}
	if _, err := c.Txn(drive.Context(t)).Then(puts...).Commit(); err != nil {
		t.Fatal(err)
	}
	w := h.waits(t, 2)
	for i, key := range keys {
		if _, err := c.Delete(drive.Context(t), key); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			w.at(t, 1)
		}
	}
	w.leads(t)
}

// TestNextWithDefectiveWatch checks that who leads because its watch does not report that
// its own entry was deleted learns of that without a renewal.
func TestNextWithDefectiveWatch(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	c := s.Client()
	defer c.Close()
	h := hang(t, s)
	head := (&hanging{addr: s.Addr()}).open(t, "head", nil)
	drive.Hold(t, head)
	w := h.waits(t, 1)
	drive.Eventually(t, drive.Patience, "all watches have begun", func() bool { return strings.Contains(s.Metrics(), "etcd_debugging_mvcc_watcher_total 4\n") })
	h.silent.Store(true)
	all, err := c.Get(drive.Context(t), head.etcd.queue, clientv3.WithLastCreate()...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Delete(drive.Context(t), string(all.Kvs[0].Key)); err != nil {
		t.Fatal(err)
	}
	drive.Eventually(t, drive.Patience, "both watches have missed it", func() bool { return h.missed.Load() == 2 })
	h.silent.Store(false)
	drive.Release(t, head)
	w.leads(t)
	if err := drive.LossOf(t, w); !errors.Is(err, locks.ErrLost) {
		t.Error(err)
	}
}
