package etcd_test

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// TestConformance uses the newest etcd, or the version that LEADERRUN_TEST_ETCD names.
func TestConformance(t *testing.T) {
	o := etcdtest.Options{Version: os.Getenv("LEADERRUN_TEST_ETCD")}
	lockstest.Run(t, newStore(t, o).config(etcd.Open))
}

func TestSlots(t *testing.T) {
	c := newStore(t, etcdtest.Options{}).config(etcd.Open)
	c.Recipe = true // slots are one
	lockstest.RunSlots(t, c)
}

// A store is one server. All tests of a suite share it, each with its own prefix and
// proxies.
type store struct {
	server *etcdtest.Server
	op     operator

	proxies faultproxy.Set

	mu sync.Mutex
	n  int
}

func newStore(t *testing.T, o etcdtest.Options) *store {
	s := etcdtest.Start(t, o)
	return &store{server: s, op: operate(t, s)}
}

func (s *store) config(open locks.Opener) lockstest.Config {
	return lockstest.Config{
		Open: open,
		URL: func(t testing.TB) *url.URL {
			s.mu.Lock()
			s.n++
			prefix := fmt.Sprintf("/test %d", s.n)
			s.mu.Unlock()
			return &url.URL{Scheme: "etcd", Host: s.proxies.New(t, s.server.Addr()), Path: prefix}
		},
		Twin: func(t testing.TB, u *url.URL) *url.URL {
			return &url.URL{Scheme: "etcd", Host: s.proxies.New(t, s.server.Addr()), Path: u.Path}
		},
		TTL: 3 * time.Second, Fair: true, Places: true,
		Cut: func(_ testing.TB, u *url.URL, how lockstest.Cut) (heal func()) { return s.proxies.Cut(u.Host, how) },
		Evict: func(_ testing.TB, u *url.URL, name string) {
			if all := s.op.entries(queueOf(u, name)); len(all) > 0 {
				s.op.delete(all[0].key)
			}
		},
		Crash: func(t testing.TB, u *url.URL, name string, _ locks.Lock) {
			s.op.revoke(s.leader(t, u, name).lease)
		},
		Restart:   func(_ testing.TB, _ *url.URL) { s.server.Kill(); s.server.Start() },
		Hostile:   s.hostile(),
		Abilities: known.Etcd.Abilities,
		Crowd: func(_ testing.TB, u *url.URL, name string, n int) {
			for i := range n {
				s.op.put(fmt.Sprintf("%s%016x", queueOf(u, name), i), string(queue.NewLabel(options("crowd"))))
			}
		},
		HostileRecords: s.hostileAt("%record"),
		HostileAsks:    s.hostileAt("%ask"),
		HostileEntries: s.foreign(),
		Foreign:        s.inTheQueue("config", "0000000000000001"),
		ReportsLeft:    true,
		Adopts:         true,
		Connections: func(_ testing.TB, u *url.URL) int {
			return s.proxies.Find(u.Host).Open()
		},
		Leftovers: func(_ testing.TB, u *url.URL) (keys []string) {
			for _, e := range s.op.entries(u.Path + "/") {
				if !strings.HasSuffix(e.key, "%record") && !strings.HasSuffix(e.key, "%ask") {
					keys = append(keys, e.key+" = "+e.value)
				}
			}
			return keys
		},
		Kept: func(_ testing.TB, u *url.URL) (keys []string) {
			for _, e := range s.op.entries(u.Path + "/") {
				keys = append(keys, e.key+" = "+e.value)
			}
			return keys
		},
	}
}

func queueOf(u *url.URL, name string) string {
	return u.Path + "/" + locks.EscapeName(name) + "/"
}

// keyOf returns a key of a lock that is not in its queue.
func keyOf(u *url.URL, name, suffix string) string {
	return u.Path + "/" + locks.EscapeName(name) + suffix
}

func (s *store) leader(t testing.TB, u *url.URL, name string) entry {
	t.Helper()
	all := s.op.entries(queueOf(u, name))
	if len(all) == 0 {
		t.Fatal("nobody holds the lock")
	}
	return all[0]
}

// hostile overwrites the entry that leads, or creates one if there is none.
func (s *store) hostile() (all []func(testing.TB, *url.URL, string)) {
	for _, value := range []string{
		"", "null", "\x00\x1b]0;owned\x07\xff", `{"holder":1,"pid":"x","since":{},"ttl":[]}`,
		`{"holder":"\u001b[2J\u0000","host":"\n","pid":-1,"since":"9999-12-31T23:59:59Z","ttl":"-1h"}`,
		strings.Repeat(`{"a":`, 10_000), `{"holder":"` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		all = append(all, func(_ testing.TB, u *url.URL, name string) {
			key := queueOf(u, name) + "0000000000000001"
			if all := s.op.entries(queueOf(u, name)); len(all) > 0 {
				key = all[0].key
			}
			s.op.put(key, value)
		})
	}
	for _, key := range []string{"", "/", "a/b/c", "\xff\x00"} {
		all = append(all, func(_ testing.TB, u *url.URL, name string) { s.op.put(queueOf(u, name)+key, "x") })
	}
	return all
}

// inTheQueue writes keys of somebody else where the entries of a lock would be.
func (s *store) inTheQueue(keys ...string) (all []func(testing.TB, *url.URL, string) func() string) {
	for _, key := range keys {
		all = append(all, func(_ testing.TB, u *url.URL, name string) func() string {
			s.op.put(queueOf(u, name)+key, "host=db1")
			return func() string { return fmt.Sprintf("%+v", s.op.entries(queueOf(u, name))) }
		})
	}
	return all
}

// foreign writes keys under the prefix that belong to no lock.
func (s *store) foreign() (all []func(testing.TB, *url.URL)) {
	for _, key := range []string{
		"", "/", "//", "jobs", "jobs%other", "%record", "a b/1", "a%20b/1", "%2f/1", "a%2F..%record", "../1", "\xff\x00/1", "\xff",
		strings.Repeat("x", locks.MaxName+1) + "/1", strings.Repeat("x", 10_000),
	} {
		all = append(all, func(_ testing.TB, u *url.URL) { s.op.put(u.Path+"/"+key, "x") })
	}
	return all
}

// hostileAt writes a key of a lock that is not in its queue.
func (s *store) hostileAt(suffix string) (all []func(testing.TB, *url.URL, string)) {
	for _, value := range []string{"", "null", "\x00\xff", `{"token":"x","text":{}}`, strings.Repeat(`{"a":`, 10_000), strings.Repeat("x", 1<<20)} {
		all = append(all, func(_ testing.TB, u *url.URL, name string) { s.op.put(keyOf(u, name, suffix), value) })
	}
	return all
}
