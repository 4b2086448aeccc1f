package gcs_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestRenewOnceIsOneRequest checks that a renewal is one request, because requests cost
// money and are limited. One that succeeds is followed by one look for a request to us.
func TestRenewOnceIsOneRequest(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	l := at(t, s, options("a"))
	drive.Hold(t, l)
	verbs(s)
	n := map[string]int{}
	look := func() bool {
		for verb, more := range verbs(s) {
			n[verb] += more
		}
		return n["ask read"] > 0
	}
	const renewals = 3
	for range renewals {
		if err := renew(t, l); err != nil {
			t.Fatal(err)
		}
	}
	drive.Eventually(t, drive.Patience, "a look for a request to us", look)
	// A renewal that comes during a look is not followed by another look.
	if n["patch"] != renewals || n["ask read"] > renewals || len(n) != 2 {
		t.Errorf("%d renewals were %v; want a patch each, and at most one look", renewals, n)
	}
	s.Fault(func(gcstest.Request) gcstest.Fault { return gcstest.Fault{Status: 503} })
	if err := renew(t, l); !errors.Is(err, locks.ErrUnavailable) {
		t.Errorf("renew: %v", err)
	}
	got := verbs(s)
	delete(got, "ask read") // an earlier look may end only now
	if want := (map[string]int{"patch": 1}); !maps.Equal(got, want) {
		t.Errorf("a failed renewal made the requests %v; want %v: the SDK must not retry", got, want)
	}
}

// TestLongDeadHolder checks that Acquire with try gets the lock of a holder that died long
// ago, at the first look.
func TestLongDeadHolder(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	first := drive.Hold(t, at(t, s, options("a")))
	b := at(t, s, options("b"))
	if _, err := b.Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrHeld) {
		t.Fatalf("while the lease runs: %v", err)
	}
	s.Age("p/jobs%2Fnightly", 12*time.Second)
	verbs(s)
	g := drive.Hold(t, b)
	if got := verbs(s); got["read"] != 1 || got["patch"] != 1 {
		t.Errorf("requests: %v", got)
	}
	if g.Clean || g.Token <= first.Token {
		t.Errorf("granted %+v after %+v", g, first)
	}
}

// TestTokensRise checks that tokens rise whatever happens to the object between two terms.
func TestTokensRise(t *testing.T) {
	t.Parallel()
	const name = "p/jobs%2Fnightly"
	edit := func(s *gcstest.Server, old, with string) {
		r := record(t, s)
		i := strings.Index(r, old)
		end := i + strings.Index(r[i:], ",")
		s.SetMetadata(name, map[string]string{"leaderrun": r[:i] + with + r[end:]})
	}
	s := gcstest.Start(t)
	last := uint64(0)
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"nothing", func() {}},
		{"a release", func() {}},
		{"a release, again", func() {}},
		{"the record says that the token is 1", func() { edit(s, `"token":`, `"token":1`) }},
		{"the record has no token", func() { edit(s, `"token":`, `"token":0`) }},
		{"the object was written anew, with its metadata", func() { s.Rewrite(name) }},
		{"the object was deleted", func() { s.Delete(name) }},
		{"the object was deleted again", func() { s.Delete(name) }},
	} {
		step.do()
		l := at(t, s, options("a"))
		g := drive.Hold(t, l)
		if g.Token <= last {
			t.Errorf("after %s the token is %d; before, it was %d", step.name, g.Token, last)
		}
		last = g.Token
		for range 3 {
			if err := renew(t, l); err != nil {
				t.Fatal(err)
			}
		}
		drive.Release(t, l)
	}
}
