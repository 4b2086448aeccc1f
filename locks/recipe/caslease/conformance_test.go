package caslease_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

// The whole suite runs for each Expiry, and for a store that reports changes. In a bubble, time
// costs nothing.

func TestByWatching(t *testing.T) { lockstest.Run(t, newSim(caslease.ByWatching).config()) }

func TestByStamps(t *testing.T) { lockstest.Run(t, newSim(caslease.ByStamps).config()) }

func TestByClock(t *testing.T) { lockstest.Run(t, newSim(caslease.ByClock).config()) }

func TestByLease(t *testing.T) { lockstest.Run(t, newSim(caslease.ByLease).config()) }

func TestByClockInTheStep(t *testing.T) {
	s := newSim(caslease.ByClock)
	s.strict = true
	lockstest.Run(t, s.config())
}

func TestWatched(t *testing.T) {
	s := newSim(caslease.ByClock)
	s.watched = true
	c := s.config()
	c.Late = 3 * time.Second // the margin, and the pause between two looks
	lockstest.Run(t, c)
}

func TestSlots(t *testing.T) { lockstest.RunSlots(t, newSim(caslease.ByStamps).config()) }

func (s *sim) config() lockstest.Config {
	c := storetest.Conformance(s.store("", ""), s.traits(), func(_ testing.TB, u *url.URL) caslease.Store {
		return s.store("direct", strings.Trim(u.Path, "/"))
	})
	c.Open, c.URL, c.Simulated, c.Recipe, c.TTL = s.open, s.url, true, false, 3*time.Second
	c.Twin = func(_ testing.TB, u *url.URL) *url.URL {
		return &url.URL{Scheme: "sim", Host: u.Host + "-twin", Path: u.Path}
	}
	c.Cut = func(_ testing.TB, u *url.URL, how lockstest.Cut) (heal func()) { return s.sever(s.pathTo(u.Host), how) }
	c.Restart = func(_ testing.TB, u *url.URL) {
		heal := s.sever(s.pathTo(u.Host), lockstest.CutReset)
		time.Sleep(200 * time.Millisecond)
		heal()
	}
	c.Hostile, c.HostileAsks = append(c.Hostile, s.hostile()...), append(c.HostileAsks, s.hostileAsks()...)
	c.HostileRecords, c.HostileEntries = s.hostileTexts(), s.hostileEntries()
	c.Kept = func(_ testing.TB, u *url.URL) []string { return s.under(strings.Trim(u.Path, "/") + "|") }
	c.Leftovers = s.leftovers
	return c
}

func cellAt(u *url.URL, p caslease.Part, name string) string {
	return id(strings.Trim(u.Path, "/"), caslease.Key{Name: name, Part: p})
}

// leftovers returns the cells that keep a lock from being taken.
func (s *sim) leftovers(_ testing.TB, u *url.URL) (held []string) {
	for _, name := range s.under(cellAt(u, caslease.Lease, "")) {
		if c, _ := s.Cell(name); storetest.Held(c) {
			held = append(held, name+" = "+c.State)
		}
	}
	return held
}

// garbage returns states that a store may return, though it need not keep them.
func garbage() []string {
	return []string{
		" ", "\x00\x1b]0;owned\x07\xff", `{"state":"held","nonce":"\u0000","ttl_ms":0}`,
		strings.Repeat(`{"a":`, 10_000), strings.Repeat("x", 300<<10),
	}
}

func (s *sim) hostile() (all []func(testing.TB, *url.URL, string)) {
	for _, value := range garbage() {
		all = append(all, func(_ testing.TB, u *url.URL, name string) { s.SetState(cellAt(u, caslease.Lease, name), value) })
	}
	return append(all, func(_ testing.TB, u *url.URL, name string) {
		s.Edit(cellAt(u, caslease.Lease, name), func(c *caslease.Cell) { c.State, c.Foreign = "", "is too large to be read" })
	})
}

func (s *sim) hostileAsks() (all []func(testing.TB, *url.URL, string)) {
	for _, value := range garbage() {
		all = append(all, func(_ testing.TB, u *url.URL, name string) { s.SetState(cellAt(u, caslease.Request, name), value) })
	}
	return all
}

func (s *sim) hostileTexts() (all []func(testing.TB, *url.URL, string)) {
	for _, text := range []string{"\xff\x00\x1b[2J", strings.Repeat("x", locks.MaxRecord+1), "\x00\x1b]0;owned\x07"} {
		all = append(all, func(_ testing.TB, u *url.URL, name string) {
			s.Edit(cellAt(u, caslease.Lease, name), func(c *caslease.Cell) { c.Record = []byte(text) })
		})
	}
	return append(all, func(_ testing.TB, u *url.URL, name string) {
		s.Edit(cellAt(u, caslease.Lease, name), func(c *caslease.Cell) { c.Record, c.BadRecord = []byte("x"), true })
	})
}

func (s *sim) hostileEntries() (all []func(testing.TB, *url.URL)) {
	for _, name := range []string{"", "../x", "\x1b[2J\xff", "a//b", "a#b", "a b", strings.Repeat("x", 9000)} {
		all = append(all, func(_ testing.TB, u *url.URL) { s.SetState(cellAt(u, caslease.Lease, name), `{"state":"free"}`) })
	}
	return all
}
