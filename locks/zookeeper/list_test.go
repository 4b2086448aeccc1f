package zookeeper_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/zookeeper"
)

func inspect(t *testing.T, l *zookeeper.Lock) locks.State {
	t.Helper()
	s, err := l.Inspect(drive.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// list returns all pages. Between two of them, meanwhile is called.
func list(t *testing.T, l *zookeeper.Lock, meanwhile func()) (all []locks.Listed) {
	t.Helper()
	for cursor := ""; ; meanwhile() {
		page, next, err := l.List(drive.Context(t), cursor)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > locks.MaxList || len(next) > locks.MaxCursor {
			t.Errorf("a page of %d, a cursor of %d bytes", len(page), len(next))
		}
		all = append(all, page...)
		if cursor = next; next == "" {
			return all
		}
	}
}

// testList: locks of both modes, with whatever names, and nothing that is none.
func testList(t *testing.T, s *root) {
	op := operate(t, s)
	w := handle(t, s.URL()+"/p", options("w"))
	if all := list(t, w, nil); len(all) != 0 {
		t.Errorf("without a chroot there are %+v", all)
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
	op.put("/p/alone%record", "b's") // the queue is gone
	want["alone"] = locks.Listed{Name: "alone", Record: []byte("b's")}
	o.Name = "free"
	drive.Release(t, holding(t, s.URL()+"/p", o))
	for _, path := range []string{
		"mine", "mine too/child", "a%2fb/x-n_1", "%61/x-n_1", "a%zz/x-n_1", "..%2Fa/x-n_1", "a%23/x-n_1", "a%2365/x-n_1", "ä/x-n_1", "ask%ask", "un%record",
	} {
		op.put("/p/"+path, "\xff")
	}
	for _, got := range list(t, w, nil) {
		w, ok := want[got.Name]
		delete(want, got.Name)
		if !ok || string(got.Record) != string(w.Record) || (got.Record == nil) != (w.Record == nil) {
			t.Errorf("%q: got the record %q, want %q; known: %v", got.Name, got.Record, w.Record, ok)
		}
		o.Name = got.Name
		if is := inspect(t, handle(t, s.URL()+"/p", o)); got.Status != is.Status || is.Held == (got.Name == "released" || got.Name == "alone") {
			t.Errorf("%q: listed as %+v, inspected as %+v", got.Name, got.Status, is.Status)
		}
	}
	if len(want) > 0 {
		t.Errorf("not listed: %+v", want)
	}
}

func holding(t *testing.T, rawURL string, o locks.Options) *zookeeper.Lock {
	t.Helper()
	l := handle(t, rawURL, o)
	drive.Hold(t, l)
	return l
}

// testListPages: what is there all the time is listed once, in pages, although
// others come and go before and after the cursor.
func testListPages(t *testing.T, s *root) {
	op := operate(t, s)
	name := func(i int) string { return fmt.Sprintf("lock%04d", i) }
	place := func(i int) string { return "/p/" + name(i) + "/x-n_0000000001" }
	const n = 200
	for i := range n {
		op.put(place(10*i), "")
	}
	pages := 1
	all := list(t, handle(t, s.URL()+"/p", options("w")), func() {
		op.delete(place(0))
		op.put(place(pages), "")        // before the cursor
		op.put(place(10*(n+pages)), "") // after it
		pages++
	})
	seen := map[string]int{}
	for _, l := range all {
		seen[l.Name]++
	}
	for i := 1; i < n; i++ {
		if got := seen[name(10*i)]; got != 1 {
			t.Errorf("%s is listed %d times", name(10*i), got)
		}
	}
	if pages != 4 {
		t.Errorf("%d locks make %d pages", n, pages)
	}
}

// testListDenied: a lock that we may not read is not passed over in silence.
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
