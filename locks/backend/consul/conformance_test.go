package consul_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/consul"
	"github.com/leaderrun/leaderrun/locks/backend/consul/consultest"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
)

func TestConformance(t *testing.T) { lockstest.Run(t, newStore(t, "").config(consul.Open)) }

func TestSlots(t *testing.T) {
	c := newStore(t, "").config(consul.Open)
	c.Recipe = true // slots are one
	lockstest.RunSlots(t, c)
}

func TestConformanceLikeConsulLock(t *testing.T) {
	c := newStore(t, "compat=consul-lock").config(consul.Open)
	c.MaxTTL = time.Minute
	lockstest.RunAgain(t, c)
}

// A store is one server for all tests of a suite. Each test has its own prefix and proxies.
type store struct {
	*consultest.Server
	query   string
	proxies faultproxy.Set
	tests   atomic.Int64
}

func newStore(t *testing.T, query string) *store {
	return &store{Server: consultest.Start(t, consultest.Options{}), query: query}
}

func (s *store) config(open locks.Opener) lockstest.Config {
	at := func(t testing.TB, path string) *url.URL {
		return &url.URL{Scheme: "consul", Host: s.proxies.New(t, s.Addr()), Path: path, RawQuery: s.query}
	}
	return lockstest.Config{
		Open: open,
		URL:  func(t testing.TB) *url.URL { return at(t, fmt.Sprintf("/test %d", s.tests.Add(1))) },
		Twin: func(t testing.TB, u *url.URL) *url.URL { return at(t, u.Path) },
		// The suite may take almost this long to see which of two waiters has won. The server
		// ends a lease after twice the ttl, and grants another after the lock delay.
		TTL: 3 * time.Second, Late: 8 * time.Second, Delayed: true, Observed: true, Places: true, NoSlots: s.query != "", HTTP: true,
		Cut: func(_ testing.TB, u *url.URL, how lockstest.Cut) (heal func()) { return s.proxies.Cut(u.Host, how) },
		Evict: func(_ testing.TB, u *url.URL, name string) {
			s.Ask(http.MethodDelete, s.path(u, name), "")
		},
		Crash: func(t testing.TB, u *url.URL, name string, _ locks.Lock) {
			var all []struct{ Session string }
			if err := json.Unmarshal([]byte(s.Ask(http.MethodGet, s.path(u, name), "")), &all); err != nil || all[0].Session == "" {
				t.Fatal("nobody holds the lock", err)
			}
			s.Ask(http.MethodPut, "/v1/session/destroy/"+all[0].Session, "")
		},
		Restart:        func(testing.TB, *url.URL) { s.Kill(); s.Start() },
		Abilities:      known.Consul.Abilities,
		Adopts:         true,
		Hostile:        s.hostile(""),
		HostileRecords: s.hostile("=record"),
		HostileAsks:    s.hostile("=ask"),
		HostileEntries: s.foreign(),
		Connections:    func(_ testing.TB, u *url.URL) int { return s.proxies.Find(u.Host).Open() },
		Kept:           func(_ testing.TB, u *url.URL) []string { return s.keys(u) },
		Leftovers: func(_ testing.TB, u *url.URL) (keys []string) {
			for _, key := range s.keys(u) {
				if !strings.HasSuffix(key, "=record") && !strings.HasSuffix(key, "=ask") {
					keys = append(keys, key)
				}
			}
			return keys
		},
	}
}

// keys returns the keys under the prefix of a test.
func (s *store) keys(u *url.URL) (keys []string) {
	_ = json.Unmarshal([]byte(s.Ask(http.MethodGet, kv(u.Path+"/")+"?keys", "")), &keys) // without keys the answer is not JSON
	return keys
}

// path returns the path of a lock's key.
func (s *store) path(u *url.URL, name string) string {
	if s.query != "" {
		return s.pathOf(u, name, "/.lock")
	}
	return s.pathOf(u, name, "")
}

// pathOf returns the path of one of a lock's keys.
func (s *store) pathOf(u *url.URL, name, what string) string {
	if s.query == "" {
		name = strings.NewReplacer("/", "=2F", ":", "=3A", "@", "=40", "#", "=23").Replace(name)
	}
	return kv(u.Path + "/" + name + what)
}

func kv(key string) string { return (&url.URL{Path: "/v1/kv" + key}).EscapedPath() }

// hostile returns functions that write one of a lock's keys.
func (s *store) hostile(what string) (all []func(testing.TB, *url.URL, string)) {
	for _, value := range []string{
		"", "null", "\x00\x1b]0;owned\x07\xff", `{"holder":1,"pid":"x","since":{},"ttl":[]}`,
		`{"holder":"\u001b[2J\u0000","host":"\n","pid":-1,"since":"9999-12-31T23:59:59Z","ttl":"-1h"}`,
		`{"token":"x","text":{}}`, strings.Repeat(`{"a":`, 10_000), strings.Repeat("x", 500<<10),
	} {
		all = append(all, func(_ testing.TB, u *url.URL, name string) {
			path := s.pathOf(u, name, what)
			if what == "" {
				path = s.path(u, name)
			}
			s.Ask(http.MethodPut, path, value)
		})
	}
	return all
}

// foreign returns functions that write keys under the prefix that are not those of a lock.
func (s *store) foreign() (all []func(testing.TB, *url.URL)) {
	for _, key := range []string{
		"jobs", "jobs=other", "=record", "=ask", "a b/1", "a=20b", "=2f", "a%2Fb", "a=2F..=record", "é", "x/", "a=record=record", "x/.lock/.lock",
		strings.Repeat("x", locks.MaxName+1), strings.Repeat("x", 500),
	} {
		all = append(all, func(_ testing.TB, u *url.URL) { s.Ask(http.MethodPut, kv(u.Path+"/"+key), "x") })
	}
	return all
}
