package doctor

import (
	"strings"
	"testing"
	"time"
)

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
		"a busy moment":         {func(s *store) { s.slow, s.slowOf = 3*time.Second, 6 }, "take-over", OK, "of a lease of 4s"},
		"a slow start":          {func(s *store) { s.opening, s.slowOf = 3*time.Second, 6 }, "take-over", OK, "of a lease of 4s"},
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
	s.slow, s.slowOf = 500*time.Millisecond, 6
	if c := find(t, examine(t, s, nil), "take-over"); c.Level != OK || c.Figures["took_ns"] != 2500*time.Millisecond {
		t.Errorf("got %+v; want a lease of 2s that was renewed half a second after the request", c)
	}
}

// TestNobodyGetsIt has a lock that is never granted to the waiter.
func TestNobodyGetsIt(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]uint64{"hand-over": 4, "take-over": 6} {
		s := newStore()
		s.last = last
		if c := find(t, examine(t, s, nil), name); c.Level != Error || !strings.Contains(c.Text, "did not get the lock") {
			t.Errorf("got %+v; want an error that the waiter did not get it", c)
		}
	}
}
