package queue_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// The whole suite runs over the simulated server. In a bubble, time costs nothing.
func TestConformance(t *testing.T) { lockstest.Run(t, newSim().config()) }

func TestOneSlot(t *testing.T) { lockstest.RunOneSlot(t, newSim().config()) }

func TestSlots(t *testing.T) { lockstest.RunSlots(t, newSim().config()) }

// TestConformanceWithoutAbilities tests the suite: a lock need not have any optional ability.
func TestConformanceWithoutAbilities(t *testing.T) {
	s := newSim()
	c := s.config()
	c.Open = func(ctx context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
		l, err := s.open(ctx, u, o)
		return struct{ locks.Lock }{l}, err
	}
	c.Abilities, c.Adopts = nil, false
	lockstest.Run(t, c)
}

func (s *sim) open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	return queue.New(s.client(u, o), queue.Traits{Backend: "sim://" + u.Host, Clock: clock.Bubble{}}, o), nil
}

func (s *sim) client(u *url.URL, o locks.Options) *client {
	c := &client{s: s, path: s.path(u.Host), o: o, prefix: u.Path + "\x00"}
	c.o.TTL = max(o.TTL, 100*time.Millisecond)
	c.key = c.prefix + s.storedName(o.Name)
	s.with(func() { c.path.conns++ })
	return c
}

func key(u *url.URL, name string) string { return u.Path + "\x00" + name }

var stores atomic.Int64

func (s *sim) config() lockstest.Config {
	return lockstest.Config{
		Open: s.open,
		URL: func(testing.TB) *url.URL {
			id := fmt.Sprint(stores.Add(1))
			return &url.URL{Scheme: "sim", Host: id, Path: "/" + id}
		},
		Twin: func(_ testing.TB, u *url.URL) *url.URL {
			return &url.URL{Scheme: "sim", Host: u.Host + "-twin", Path: u.Path}
		},
		TTL: time.Second, Late: time.Second, Fair: true, Places: true, Adopts: true, ReportsLeft: true, Simulated: true,
		Abilities: []locks.Ability{
			locks.CanInspect, locks.CanQueue, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanWatch, locks.CanBreak, locks.CanForget, locks.CanProbe,
		},
		Cut:     func(_ testing.TB, u *url.URL, how lockstest.Cut) func() { return s.sever(s.path(u.Host), how) },
		Evict:   func(_ testing.TB, u *url.URL, name string) { s.Evict(key(u, name), 0) },
		Crash:   func(_ testing.TB, u *url.URL, name string, _ locks.Lock) { s.Evict(key(u, name), 0) },
		Restart: func(_ testing.TB, u *url.URL) { s.restart(u) },
		Crowd: func(_ testing.TB, u *url.URL, name string, n int) {
			for i := range n {
				s.with(func() {
					s.add(&entry{key: key(u, name), nonce: fmt.Sprint("crowd ", i), ttl: time.Minute, data: queue.NewLabel(locks.Options{})})
				})
			}
		},
		Hostile:        s.hostile(func(u *url.URL, name, text string) { s.soil(key(u, name), []byte(text)) }),
		HostileRecords: s.hostile(func(u *url.URL, name, text string) { s.with(func() { s.line(key(u, name)).text = []byte(text) }) }),
		HostileAsks: s.hostile(func(u *url.URL, name, text string) {
			s.with(func() {
				l := s.line(key(u, name))
				l.request, l.asked = []byte(text), l.asked+1
				s.change(key(u, name))
			})
		}),
		HostileEntries: s.hostileEntries(),
		Connections:    func(_ testing.TB, u *url.URL) (n int) { s.with(func() { n = s.paths[u.Host].conns }); return n },
		Leftovers:      func(_ testing.TB, u *url.URL) []string { return s.under(key(u, ""), false) },
		Kept:           func(_ testing.TB, u *url.URL) []string { return s.under(key(u, ""), true) },
	}
}

func (s *sim) hostile(put func(u *url.URL, name, text string)) (all []func(testing.TB, *url.URL, string)) {
	for _, text := range []string{
		"", "\x1b[2J\x00\xff not JSON", `{"holder":"\u001b]0;owned\u0007\n\u202e","token":-1}`, strings.Repeat("[", 1<<20), strings.Repeat("x", 1<<20),
	} {
		all = append(all, func(_ testing.TB, u *url.URL, name string) { put(u, name, text) })
	}
	return all
}

// hostileEntries returns functions that make entries whose names no lock can have.
func (s *sim) hostileEntries() (all []func(testing.TB, *url.URL)) {
	for _, name := range []string{"", "../x", "\x1b[2J\xff", "a//b", "a#b", strings.Repeat("x", 1<<20)} {
		all = append(all, func(_ testing.TB, u *url.URL) { s.soil(key(u, name), []byte("{}")) })
	}
	return all
}
