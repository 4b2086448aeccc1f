package zookeeper_test

import (
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// testList checks that a list has the locks of both modes, and one that only has a record, but not
// one that has left an empty queue.
func testList(t *testing.T, s *root) {
	op, w := operate(t, s), handle(t, s.URL()+"/p", options("w"))
	for name, mode := range map[string]string{"a/b": "", "a#0": "?mode=unfair", "free": ""} {
		o := options("holder of " + name)
		o.Name = name
		l := handle(t, s.URL()+"/p"+mode, o)
		drive.Hold(t, l)
		if name == "free" {
			drive.Release(t, l)
		}
	}
	op.put("/p/alone%record", "b's")
	all, _ := drive.List(t, w)
	if len(all) != 3 || all["a/b"].Status.Holder != "holder of a/b" || all["a#0"].Status.Holder != "holder of a#0" || all["alone"].Status.Held || string(all["alone"].Record) != "b's" {
		t.Errorf("listed: %+v", all)
	}
}

// testListDenied checks that a lock that we may not read makes the list fail.
func testListDenied(t *testing.T, s *root) {
	op := operate(t, s)
	op.put("/p", "")
	l := handle(t, s.URL()+"/p", options("w"))
	if err := op.Create("/p/theirs", nil, zk.FlagEphemeral, zk.DigestACL(zk.PermAll, "other", "user")); err != nil {
		t.Fatal(err)
	}
	if page, _, err := l.List(drive.Context(t), ""); !errors.Is(err, locks.ErrDenied) {
		t.Errorf("got %+v, %v; want ErrDenied", page, err)
	}
}
