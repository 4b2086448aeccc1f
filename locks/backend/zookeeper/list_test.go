package zookeeper_test

import (
	"context"
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// testList checks that List returns the locks of both modes, whatever their names, and
// nothing that is not a lock.
func testList(t *testing.T, s *root) {
	op := operate(t, s)
	w := handle(t, s.URL()+"/p", options("w"))
	if all, _ := drive.List(t, w); len(all) != 0 {
		t.Errorf("without a chroot: %+v", all)
	}
	want := map[string]locks.Listed{}
	for i, name := range []string{"a", "a/b", "a/b#0", "jobs#64", "x@y:z", "-._"} {
		o := options("holder of " + name)
		o.Name = name
		l := handle(t, s.URL()+"/p"+[]string{"", "?mode=unfair"}[i%2], o)
		drive.Hold(t, l)
		want[name] = locks.Listed{Name: name}
		if i > 2 {
			write(t, l)
			want[name] = locks.Listed{Name: name, Record: []byte("b's")}
		}
	}
	o := options("waiter")
	o.Name = "a"
	_, _ = campaign(drive.Context(t), t, s.URL()+"/p", o)
	o.Name = "released"
	released := handle(t, s.URL()+"/p", o)
	drive.Hold(t, released)
	write(t, released)
	drive.Release(t, released)
	want["released"] = locks.Listed{Name: "released", Record: []byte("b's")}
	op.put("/p/alone%record", "b's") // a record without a queue
	want["alone"] = locks.Listed{Name: "alone", Record: []byte("b's")}
	o.Name = "free"
	drive.Release(t, holding(t, s.URL()+"/p", o))
	for _, path := range []string{
		"mine", "mine too/child", "a%2fb/x-n_1", "%61/x-n_1", "a%zz/x-n_1", "..%2Fa/x-n_1", "a%23/x-n_1", "a%2365/x-n_1", "ä/x-n_1", "ask%ask", "un%record",
	} {
		op.put("/p/"+path, "\xff")
	}
	all, _ := drive.List(t, w)
	for _, got := range all {
		w, ok := want[got.Name]
		delete(want, got.Name)
		if !ok || string(got.Record) != string(w.Record) || (got.Record == nil) != (w.Record == nil) {
			t.Errorf("%q: got the record %q, want %q; known: %v", got.Name, got.Record, w.Record, ok)
		}
		o.Name = got.Name
		if is := drive.Inspect(t, handle(t, s.URL()+"/p", o)); got.Status != is.Status || is.Held == (got.Name == "released" || got.Name == "alone") {
			t.Errorf("%q: listed as %+v, inspected as %+v", got.Name, got.Status, is.Status)
		}
	}
	if len(want) > 0 {
		t.Errorf("not listed: %+v", want)
	}
}

func holding(t *testing.T, rawURL string, o locks.Options) *queue.Lock {
	t.Helper()
	l := handle(t, rawURL, o)
	drive.Hold(t, l)
	return l
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
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := l.List(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
