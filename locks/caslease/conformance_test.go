package caslease_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/caslease"
	"github.com/leaderrun/leaderrun/locks/lockstest"
)

// The whole suite runs over each way in which a store can judge the end of a lease, and
// over one that tells of changes. In a bubble, time costs nothing.

func TestByWatching(t *testing.T) { lockstest.Run(t, newSim(caslease.ByWatching).config()) }

func TestByStamps(t *testing.T) { lockstest.Run(t, newSim(caslease.ByStamps).config()) }

func TestByClock(t *testing.T) { lockstest.Run(t, newSim(caslease.ByClock).config()) }

func TestByClockInTheStep(t *testing.T) {
	s := newSim(caslease.ByClock)
	s.strict = true
	lockstest.Run(t, s.config())
}

func TestWatched(t *testing.T) {
	s := newSim(caslease.ByClock)
	s.watched = true
	lockstest.Run(t, s.config())
}

func (s *sim) config() lockstest.Config {
	c := lockstest.Config{
		Open: s.open, URL: s.url, Simulated: true,
		Twin: func(_ testing.TB, u *url.URL) *url.URL {
			return &url.URL{Scheme: "sim", Host: u.Host + "-twin", Path: u.Path}
		},
		TTL: 3 * time.Second, Polling: 3 * time.Second, Unwatched: true, AskDelay: time.Second,
		Abilities:  []locks.Ability{locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanBreak, locks.CanForget, locks.CanProbe},
		TellsStart: true, Adopts: true, TellsLeft: s.expiry != caslease.ByWatching, Observed: s.expiry == caslease.ByWatching,
		Cut:   func(_ testing.TB, u *url.URL, how lockstest.Cut) (heal func()) { return s.sever(s.pathTo(u.Host), how) },
		Evict: func(_ testing.TB, u *url.URL, name string) { s.Delete(cellAt(u, caslease.Lease, name)) },
		Restart: func(_ testing.TB, u *url.URL) {
			heal := s.sever(s.pathTo(u.Host), lockstest.CutReset)
			time.Sleep(200 * time.Millisecond)
			heal()
		},
		Hostile: s.hostile(), HostileRecords: s.hostileTexts(), HostileAsks: s.hostileAsks(), HostileEntries: s.hostileEntries(),
		Kept:      func(_ testing.TB, u *url.URL) []string { return s.under(strings.Trim(u.Path, "/")) },
		Leftovers: s.leftovers,
	}
	if s.watched {
		c.Polling, c.Unwatched, c.AskDelay = 0, false, 0
		c.Abilities = append(c.Abilities, locks.CanWatch)
	}
	return c
}

func cellAt(u *url.URL, p caslease.Part, name string) string {
	return id(strings.Trim(u.Path, "/"), caslease.Key{Name: name, Part: p})
}

// leftovers are the cells that keep anybody from having a lock.
func (s *sim) leftovers(_ testing.TB, u *url.URL) (held []string) {
	for _, name := range s.under(strings.Trim(u.Path, "/")) {
		c, _ := s.Cell(name)
		var r struct {
			State string
			TTLms int64 `json:"ttl_ms"`
		}
		_ = json.Unmarshal([]byte(c.State), &r)
		ends := c.Updated.Add(time.Duration(r.TTLms) * time.Millisecond)
		if r.State == "held" && (r.TTLms <= 0 || time.Now().Before(ends)) {
			held = append(held, name+" = "+c.State)
		}
	}
	return held
}

// garbage is what no leaderrun would write as a state or a request.
func garbage() []string {
	return []string{
		" ", "null", "\x00\x1b]0;owned\x07\xff", `{"state":1,"ttl_ms":"x","nonce":{}}`,
		`{"state":"held","nonce":"\u001b[2J\u0000","ttl_ms":0}`,
		`{"state":"held","nonce":"n","ttl_ms":1000000000000,"holder":"\n"}`,
		`{"state":"held","nonce":"n","ttl_ms":2000,"token":18446744073709551615}`,
		`{"state":"held","nonce":"n","ttl_ms":2000,"holder":"\u001b[2J\u0000","host":"\n","pid":-1,"since":"9999-12-31T23:59:59Z"}`,
		strings.Repeat(`{"a":`, 10_000), strings.Repeat("x", 300<<10), `{"token":-1,"nonce":{}}`,
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
			s.Edit(cellAt(u, caslease.Lease, name), func(c *caslease.Cell) { c.Text = []byte(text) })
		})
	}
	return append(all, func(_ testing.TB, u *url.URL, name string) {
		s.Edit(cellAt(u, caslease.Lease, name), func(c *caslease.Cell) { c.Text, c.BadText = []byte("x"), true })
	})
}

func (s *sim) hostileEntries() (all []func(testing.TB, *url.URL)) {
	for _, name := range []string{"", "../x", "\x1b[2J\xff", "a//b", "a#b", "a b", strings.Repeat("x", 9000)} {
		all = append(all, func(_ testing.TB, u *url.URL) { s.SetState(cellAt(u, caslease.Lease, name), `{"state":"free"}`) })
	}
	return all
}
