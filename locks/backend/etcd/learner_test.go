package etcd_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestLearner checks that a learner among the endpoints costs nobody the lock or an entry
// in its queue, and that no entry stays. If it is the only endpoint, the error names it.
func TestLearner(t *testing.T) {
	t.Parallel()
	for _, version := range etcdtest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := etcdtest.StartCluster(t, 1, etcdtest.Options{Version: version})
			learner := c.AddLearner()
			among := c.URL() + "," + learner.Addr()
			o := options("a")
			var log drive.Log
			o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))
			for range 8 {
				l := open(t, among, o)
				if _, err := l.Acquire(drive.Context(t), true); err != nil {
					t.Fatal(err)
				}
				if _, err := open(t, among, o).Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrHeld) {
					t.Fatalf("of a lock that is held: %v", err)
				}
				drive.Release(t, l)
			}
			holder := open(t, among, o)
			g := drive.Hold(t, holder)
			waiter, got := campaign(drive.Context(t), t, among, o)
			for range 8 {
				drive.Renew(t, holder)
				drive.Renew(t, waiter)
			}
			if err := waiter.(locks.Asker).Ask(drive.Context(t), g.Token, []byte("resign")); err != nil {
				t.Error(err)
			}
			if text := drive.Within(t, drive.Patience, holder.(locks.Asker).Asked()); string(text) != "resign" {
				t.Errorf("received the request %q", text)
			}
			drive.Release(t, holder)
			if r := drive.Within(t, drive.Patience, got); r.Err != nil {
				t.Error(r.Err)
			}
			drive.Release(t, waiter)
			if left := operate(t, c[0]).entries("/leaderrun/jobs/nightly/"); len(left) > 0 {
				t.Errorf("left in the queue: %+v", left)
			}
			if log.String() != "" {
				t.Errorf("the log is not empty:\n%s", log.String())
			}
			start := time.Now()
			_, err := open(t, learner.URL(), o).Acquire(drive.Context(t), false)
			if !errors.Is(err, locks.ErrUnavailable) || time.Since(start) > promptly || !strings.Contains(err.Error(), learner.Addr()) ||
				!strings.Contains(err.Error(), "learner") || !strings.Contains(locks.Hint(err), "etcdctl member promote") {
				t.Errorf("of a learner alone, after %v: %v (%s)", time.Since(start), err, locks.Hint(err))
			}
		})
	}
}
