package lockstest

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// TestReference shows that the suite can be passed, by a backend in memory
// that does what the contract says.
func TestReference(t *testing.T) {
	Run(t, newMemory("", true).config())
}

// TestReferenceWithoutLeases is the same for a backend like flock.
func TestReferenceWithoutLeases(t *testing.T) {
	m := newMemory("", false)
	Run(t, Config{Open: m.open, URL: m.url, Fair: true, Abilities: everything(), Simulated: true})
}

// TestReferenceThatPolls is the same for a store without queues.
func TestReferenceThatPolls(t *testing.T) {
	m := newMemory("", true)
	m.polls = true
	c := m.config()
	c.Polling, c.Fair, c.Places = 50*time.Millisecond, false, false
	c.AskDelay, c.Abilities = c.TTL, unqueued()
	Run(t, c)
}

func (m *memory) config() Config {
	return Config{
		Open: m.open,
		URL:  m.url,
		Twin: func(_ testing.TB, u *url.URL) *url.URL {
			return &url.URL{Scheme: "mem", Host: u.Host + "-twin", Path: u.Path}
		},
		TTL:    time.Second,
		Fair:   true,
		Places: true,
		Late:   time.Second,
		Cut:    func(_ testing.TB, u *url.URL, how Cut) func() { return m.path(u).Cut(how) },
		Evict:  func(_ testing.TB, u *url.URL, name string) { m.deleteAll(key(u, name)) },
		Crash: func(_ testing.TB, u *url.URL, name string, l locks.Lock) {
			m.deleteAll(key(u, name))
		},
		Restart:        func(_ testing.TB, u *url.URL) { m.outage(u, 200*time.Millisecond) },
		Hostile:        m.hostile(),
		Abilities:      everything(),
		Crowd:          func(_ testing.TB, u *url.URL, name string, n int) { m.crowd(key(u, name), n) },
		HostileRecords: m.hostileTexts(func(q *queue, text []byte) { q.text = text }),
		HostileAsks: m.hostileTexts(func(q *queue, text []byte) {
			q.places[0].unheard = text
			q.places[0].deliver()
		}),
		Connections:    func(_ testing.TB, u *url.URL) int { return int(m.path(u).conns.Load()) },
		Leftovers:      func(_ testing.TB, u *url.URL) []string { return m.contents(u.Path + "\x00") },
		HostileEntries: m.hostileEntries(),
		Kept:           func(_ testing.TB, u *url.URL) []string { return m.kept(u.Path + "\x00") },
		TellsLeft:      true,
		TellsStart:     true,
		Adopts:         true,
		Simulated:      true,
	}
}

// TestReferenceWithoutAbilities is the same for a backend that has none.
func TestReferenceWithoutAbilities(t *testing.T) {
	m := newMemory("", true)
	c := m.config()
	c.Open = func(ctx context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
		l, err := m.open(ctx, u, o)
		return struct{ locks.Lock }{l}, err
	}
	c.Abilities, c.Adopts = nil, false
	Run(t, c)
}

func everything() []locks.Ability {
	return append(unqueued(), locks.CanQueue)
}

// unqueued are the abilities of a backend without a queue.
func unqueued() []locks.Ability {
	return []locks.Ability{
		locks.CanInspect, locks.CanRecord, locks.CanAsk,
		locks.CanList, locks.CanWatch, locks.CanBreak, locks.CanProbe, locks.CanForget,
	}
}

func key(u *url.URL, name string) string { return u.Path + "\x00" + name }

var stores atomic.Int64

func (m *memory) url(testing.TB) *url.URL {
	id := fmt.Sprint(stores.Add(1))
	return &url.URL{Scheme: "mem", Host: id, Path: "/" + id}
}

// long is a text that nobody should read to its end.
var long = strings.Repeat("x", 10<<20)

// hostile are records that no leaderrun would write.
func (m *memory) hostile() (all []func(testing.TB, *url.URL, string)) {
	for _, raw := range []string{
		"\x1b[2J\x00\xff not JSON",
		`{"holder":"\u001b]0;owned\u0007\n\u202e"}`,
		`{"holder":"` + long + `"}`,
		strings.Repeat("[", 1<<20),
		"",
	} {
		all = append(all, func(_ testing.TB, u *url.URL, name string) { m.soil(key(u, name), []byte(raw)) })
	}
	return all
}

// hostileEntries are no locks.
func (m *memory) hostileEntries() (all []func(testing.TB, *url.URL)) {
	for _, name := range []string{"", "../x", "\x1b[2J\xff", "a//b", "a#b", long} {
		all = append(all, func(_ testing.TB, u *url.URL) { m.soil(key(u, name), []byte("{}")) })
	}
	return all
}

// hostileTexts are ones that no leaderrun would keep beside a lock.
func (m *memory) hostileTexts(put func(*queue, []byte)) (all []func(testing.TB, *url.URL, string)) {
	for _, raw := range []string{"", "\xff\x00\x1b[2J", long} {
		all = append(all, func(_ testing.TB, u *url.URL, name string) {
			m.mu.Lock()
			defer m.mu.Unlock()
			put(m.queue(key(u, name)), []byte(raw))
		})
	}
	return all
}
