package etcd_test

import (
	"context"
	"errors"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestForget checks that Forget deletes all keys of the lock, and no others.
func TestForget(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	op := operate(t, s)
	others := []string{
		"/leaderrun/jobs%2Fnightly%2Fx%record", "/leaderrun/jobs%2Fnightly%231%record", "/leaderrun/jobs%2Fnightl%record",
		"/leaderrun/jobs%record", "/leaderrun/jobs%2Fnightly.x/1", "/leaderrun/jobs%2Fnightly0/1", "/leaderrun2/jobs%2Fnightly%record",
	}
	op.putAll(others, "x")
	l, w := handle(t, s.URL(), options("a")), handle(t, s.URL(), options("w"))
	token := drive.Hold(t, l).Token
	if err := l.SetRecord(drive.Context(t), []byte("x")); err != nil {
		t.Fatal(err)
	}
	drive.Ask(t, w, token, "x")
	ctx, cancel := context.WithCancel(drive.Context(t))
	waiter, done := campaign(ctx, t, s.URL(), options("waiter"))
	for _, forgetter := range []locks.Forgetter{w, l} {
		err := forgetter.Forget(drive.Context(t))
		held, ok := errors.AsType[*locks.HeldError](err)
		if !ok || held.Status.Holder != "a" || held.Status.Token != token || held.Status.Waiters != 1 {
			t.Errorf("forget a held lock: %v", err)
		}
	}
	if all := op.entries(""); len(all) != len(others)+4 {
		t.Errorf("keys of a held lock: %v", all)
	}
	cancel()
	drive.Within(t, drive.Patience, done)
	drive.Release(t, waiter)
	drive.Release(t, l)
	for range 2 { // the second has nothing to delete, and succeeds
		if err := w.Forget(drive.Context(t)); err != nil {
			t.Error(err)
		}
		if all := op.entries(""); len(all) != len(others) {
			t.Errorf("left: %v", all)
		}
	}
	if again := drive.Hold(t, handle(t, s.URL(), options("b"))); again.Token <= token {
		t.Errorf("token %d after %d", again.Token, token)
	}
}
