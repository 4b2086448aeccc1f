package gcs_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// list returns all pages of a listing, by the names of the locks.
func list(t *testing.T, l locks.Lock) map[string]locks.Listed {
	t.Helper()
	all, _ := drive.List(t, l.(locks.Lister))
	return all
}

// TestList checks that one request lists a held lock, a released one and a slot, and
// leaves out what is not a lock or is under another prefix.
func TestList(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	named := func(name string) locks.Lock {
		o := options("holder of " + name)
		o.Name = name
		return at(t, s, o)
	}
	if got := list(t, named("a")); len(got) > 0 {
		t.Errorf("with no locks: %v", got)
	}
	a, slot, old := named("jobs/A:b@c"), named("a#12"), named("old")
	g := drive.Hold(t, a)
	drive.Hold(t, slot)
	drive.Hold(t, old)
	for _, l := range []locks.Lock{a, old} {
		if err := l.(locks.Recorder).SetRecord(drive.Context(t), []byte("it ran")); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.(locks.Asker).Ask(drive.Context(t), g.Token, []byte("x")); err != nil {
		t.Fatal(err)
	}
	drive.Release(t, old)
	for _, other := range []string{"p", "p/", "p/bad%2", "p/a%2fb", "p/a b", "p/%61", "p/deeper/x", "p2/x"} {
		s.SetMetadata(other, map[string]string{"leaderrun": `{"state":"free","nonce":"n","ttl_ms":1000}`})
	}
	s.SetMetadata("p/foreign", map[string]string{"k": "v"})
	s.SetMetadata("p/marked", map[string]string{"leaderrun": "?"})
	s.Requests()
	got := list(t, named("a"))
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, []string{"a#12", "jobs/A:b@c", "old"}) {
		t.Errorf("got %q", names)
	}
	if all := s.Requests(); len(all) != 1 || all[0].Verb != "list" || all[0].Query.Get("delimiter") != "/" {
		t.Errorf("requests: %+v", all)
	}
	for name, held := range map[string]bool{"a#12": true, "jobs/A:b@c": true, "old": false} {
		if st := got[name].Status; st.Held != held || held && (st.Holder != "holder of "+name || st.Token == 0 || st.Left <= 0) {
			t.Errorf("%s: got %+v", name, st)
		}
	}
	if text, none := got["jobs/A:b@c"].Record, got["a#12"].Record; string(text) != "it ran" || string(got["old"].Record) != "it ran" || none != nil {
		t.Errorf("records: %q, %q", text, none)
	}
}

// TestListOfALongPrefix checks that a cursor that is too long to be returned is an error.
func TestListOfALongPrefix(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	answering(s, map[string]string{"list": `{"items":[{"name":"p/a","generation":"1"}],"nextPageToken":"` + strings.Repeat("x", locks.MaxCursor+1) + `"}`})
	_, _, err := at(t, s, patiently("a")).(locks.Lister).List(drive.Context(t), "")
	if n := verbs(s); !errors.Is(err, locks.ErrUsage) || n["list"] != 1 {
		t.Errorf("got %v after %v", err, n)
	}
}

// TestListPages lists more locks than a page has, each with as much metadata as the
// service keeps.
func TestListPages(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	const n = 2*locks.MaxList + 1
	for i := range n {
		s.SetMetadata(fmt.Sprintf("p/job-%03d", i), map[string]string{
			"leaderrun": `{"state":"free","nonce":"n","ttl_ms":1000}`, "k": strings.Repeat("x", 5000),
		})
	}
	verbs(s)
	if got := list(t, at(t, s, patiently("a"))); len(got) != n {
		t.Errorf("got %d locks, want %d", len(got), n)
	}
	if got := verbs(s); !maps.Equal(got, map[string]int{"list": 3}) {
		t.Errorf("requests: %v", got)
	}
	s.Next("list", gcstest.Fault{Status: 503, Message: "Backend Error"})
	if got := list(t, at(t, s, patiently("a"))); len(got) != n {
		t.Errorf("when a page was requested twice: got %d locks, want %d", len(got), n)
	}
}
