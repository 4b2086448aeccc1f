package etcd_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// putAll writes many keys, in few requests.
func (o operator) putAll(keys []string, value string) {
	o.t.Helper()
	for part := range slices.Chunk(keys, 128) {
		var ops []clientv3.Op
		for _, key := range part {
			ops = append(ops, clientv3.OpPut(key, value))
		}
		if _, err := o.Txn(drive.Context(o.t)).Then(ops...).Commit(); err != nil {
			o.t.Fatal(err)
		}
	}
}

// crowd returns the keys of n entries in the queue of a lock.
func crowd(name string, n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("/leaderrun/%s/%016x", locks.EscapeName(name), i))
	}
	return keys
}

// TestListPages checks that all locks are listed once, whatever other keys there are and
// whatever the order of their keys.
func TestListPages(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	op := operate(t, s)
	var want []string
	put := func(name string, entries int, rec string) {
		op.putAll(crowd(name, entries), string(queue.NewLabel(options("holder of "+name))))
		if rec != "" {
			op.put("/leaderrun/"+locks.EscapeName(name)+"%record", rec)
		}
		want = append(want, name)
	}
	for _, name := range []string{"jobs", "jobs-a", "jobs.b", "jobs/nightly", "jobs#3", "jobs#0", "jobs:x", "jobs@y", "jobs_z", "jobs0", "Jobs"} {
		put(name, 2, "record of "+name)
	}
	put("free", 0, "record of free")
	for i := range 100 { // between the record of "free" and its queue, and of "jobs"
		put(fmt.Sprintf("free-%d", i), 1, "")
		put(fmt.Sprintf("jobs-%d", i), 0, "x")
	}
	put("long", 2000, "")
	put("longer", 300, "")
	var foreign []string
	for i := range 3000 {
		foreign = append(foreign, fmt.Sprintf("/leaderrun/other application %d", i), fmt.Sprintf("/leaderrun/a b/%d", i))
	}
	foreign = append(foreign, "/leaderrun/free%ask", "/leaderrun/asked%ask", "/leaderrun/%2f/1", "/leaderrun/"+strings.Repeat("x", 5000), "/leaderrun/\xff\xff",
		"/leaderrun//x", "/leaderrun2/other/1", "/leaderru/other/1", "/leaderrun.x/other/1")
	op.putAll(foreign, "x")

	l := handle(t, s.URL(), options("operator"))
	for _, cursor := range []string{"%", "a", strings.Repeat("a", locks.MaxCursor+4)} {
		if _, _, err := l.List(drive.Context(t), cursor); !errors.Is(err, locks.ErrUsage) {
			t.Errorf("cursor %.10q: %v", cursor, err)
		}
	}
	all, pages := drive.List(t, l)
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, want) {
		t.Errorf("listed: %q\nwant: %q", got, want)
	}
	if pages < len(want)/locks.MaxList || pages > 30 {
		t.Errorf("%d pages for %d locks", pages, len(want))
	}
	for name, waiters := range map[string]int{"jobs": 1, "long": 1999, "longer": 299, "free-7": 0} {
		got := all[name].Status
		state, err := handle(t, s.URL(), locks.Options{Name: name, TTL: time.Minute, ConnectTimeout: trial.Stretch(5 * time.Second)}).Inspect(drive.Context(t))
		if err != nil || got != state.Status || got.Holder != "holder of "+name || got.Waiters != waiters || !got.Held {
			t.Errorf("%s: listed %+v, inspected %+v, %v", name, got, state.Status, err)
		}
	}
	for name, want := range map[string]string{"jobs": "record of jobs", "jobs#3": "record of jobs#3", "free": "record of free", "free-7": ""} {
		if got := all[name].Record; string(got) != want || (got == nil) != (want == "") {
			t.Errorf("%s: record %q, want %q", name, got, want)
		}
	}
	if free := all["free"].Status; free != (locks.Status{}) {
		t.Errorf("a free lock: %+v", free)
	}
}

// TestLongValues writes more than an answer may be long into a queue, and into the locks of a
// page. No lock is hidden by that.
func TestLongValues(t *testing.T) {
	t.Parallel()
	const n = 35
	s := etcdtest.Start(t, etcdtest.Options{})
	op := operate(t, s)
	value := strings.Repeat("x", 1450<<10)
	keys := crowd("a", n)
	for i := range n / 2 {
		name := fmt.Sprint("b", i)
		keys = append(keys, crowd(name, 1)[0], "/leaderrun/"+name+"%record")
	}
	for _, key := range keys {
		op.put(key, value)
	}
	l := handle(t, s.URL(), locks.Options{Name: "a", TTL: time.Minute, ConnectTimeout: drive.Patience})
	state, err := l.Inspect(drive.Context(t))
	if err != nil || state.Waiters != n-1 || len(state.Queue) == 0 || len(state.Queue) == n-1 {
		t.Errorf("%d waiters, %d of them read, %v", state.Waiters, len(state.Queue), err)
	}
	if all, pages := drive.List(t, l); len(all) != 1+n/2 || pages != 1 || len(all["b1"].Record) != locks.MaxRecord {
		t.Errorf("listed %d locks on %d pages, one with a record of %d bytes", len(all), pages, len(all["b1"].Record))
	}
}

// TestListCost checks that a long queue costs no more than a short one, and that a page
// takes a bounded number of requests.
func TestListCost(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	op := operate(t, s)
	op.putAll(crowd("long", 10_000), "x")
	op.putAll(crowd("short", 1), "x")
	l := handle(t, s.URL(), options("operator"))
	before := settled(t, s)
	if all, pages := drive.List(t, l); len(all) != 2 || pages != 1 || all["long"].Status.Waiters != 9999 {
		t.Errorf("%d pages: %+v", pages, all)
	}
	if got := settled(t, s).minus(before); got.within(counts{get: 2, txn: 1}) != nil {
		t.Errorf("a queue of 10,000: %+v", got)
	}
	for i := range 20 {
		op.putAll(crowd(fmt.Sprintf("long%d", i), 300), "x")
	}
	before = settled(t, s)
	all, pages := drive.List(t, l)
	if got := settled(t, s).minus(before); len(all) != 22 || got.within(counts{get: 8 * pages, txn: pages}) != nil {
		t.Errorf("%d locks on %d pages: %+v", len(all), pages, got)
	}
}
