package doctor

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// TestWatch: the watch must report a release, and nothing else counts as a report.
func TestWatch(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ruin func(*store)
		want Level
		text string
	}{
		"a report":            {func(*store) {}, OK, "reported a release"},
		"after other reports": {func(s *store) { s.watches = 3 }, OK, "reported a release"},
		"no report":           {func(s *store) { s.unreported = true }, Error, "did not report a release"},
		"other reports only":  {func(s *store) { s.unreported, s.watches = true, 3 }, Error, "did not report a release"},
		"a watch that ends":   {func(s *store) { s.closes = true }, Error, "ended before it reported"},
		"refused":             {func(s *store) { s.fail["watch"] = errors.New("no watches here") }, Error, "no watches here"},
		"there are none":      {func(s *store) { s.fail["watch"] = &locks.UsageError{What: "no watches here"} }, Skipped, "no watches here"},
	} {
		s := newStore()
		tt.ruin(s)
		if c := find(t, examine(t, s, nil), "watch"); c.Level != tt.want || !strings.Contains(c.Text, tt.text) {
			t.Errorf("%s: got %+v; want %s, %q", name, c, tt.want, tt.text)
		}
	}
}

// TestHandOverFails breaks what happens when a lock changes hands.
func TestHandOverFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ruin func(*store)
		at   string
		want Level
		text string
	}{
		"all well":              {func(*store) {}, "take-over", OK, "held the lock 2s after the last renewal of a lease of 2s"},
		"tokens repeat":         {func(s *store) { s.repeats = true }, "hand-over", Error, "token 1 was followed by token 1"},
		"tokens repeat there":   {func(s *store) { s.repeats = true }, "take-over", Error, "token 1 was followed by token 1"},
		"two at once":           {func(s *store) { s.shared = true }, "hand-over", Error, "given to a second contender"},
		"leases end early":      {func(s *store) { s.early = 50 * time.Millisecond }, "take-over", Error, "before its end"},
		"who vanished released": {func(s *store) { s.clean = true }, "take-over", Error, "had been released"},
		"a busy moment":         {func(s *store) { s.slow, s.slowOf = 3*time.Second, 7 }, "take-over", OK, "of a lease of 4s"},
		"all leases are long":   {func(s *store) { s.grant = func(time.Duration) time.Duration { return 16 * time.Second } }, "take-over", Skipped, "16s"},
	} {
		s := newStore()
		tt.ruin(s)
		if c := find(t, examine(t, s, nil), tt.at); c.Level != tt.want || !strings.Contains(c.Text, tt.text) {
			t.Errorf("%s: got %+v; want %s, %q", name, c, tt.want, tt.text)
		}
		if len(s.forgot) != 1 || !s.free() {
			t.Errorf("%s: the lock is free: %v; deleted: %q", name, s.free(), s.forgot)
		}
	}
}

// TestLeaseCountsFromTheSending: the lease counts from when its last renewal was sent, as it
// does for the holder.
func TestLeaseCountsFromTheSending(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.slow, s.slowOf = 500*time.Millisecond, 7
	if c := find(t, examine(t, s, nil), "take-over"); c.Level != OK || c.Figures["took_ns"] != 2500*time.Millisecond {
		t.Errorf("got %+v; want a lease of 2s that was renewed half a second after the request", c)
	}
}

// TestNobodyGetsIt has a lock that is never granted to the waiter.
func TestNobodyGetsIt(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]uint64{"hand-over": 5, "take-over": 7} {
		s := newStore()
		s.last = last
		if c := find(t, examine(t, s, nil), name); c.Level != Error || !strings.Contains(c.Text, "did not get the lock") {
			t.Errorf("got %+v; want an error that the waiter did not get it", c)
		}
	}
}
