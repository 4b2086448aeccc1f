package zookeeper_test

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zktest"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

func TestConformance(t *testing.T) {
	lockstest.Run(t, newStore(t, "").config(zookeeper.Open))
}

func TestSlots(t *testing.T) {
	c := newStore(t, "").config(zookeeper.Open)
	c.Recipe = true // slots are one
	lockstest.RunSlots(t, c)
}

func TestConformanceUnfair(t *testing.T) {
	c := newStore(t, "mode=unfair").config(zookeeper.Open)
	c.TTL = 3 * time.Second // longer than the suite needs to see which of two waiters has won
	lockstest.RunAgain(t, c)
}

// A store is one server. All tests of a suite share it, each with its own chroot and
// proxies.
type store struct {
	server *zktest.Server
	op     operator
	query  string

	proxies faultproxy.Set

	mu sync.Mutex
	n  int
}

func newStore(t *testing.T, query string) *store {
	s := zktest.Start(t, zktest.Options{})
	return &store{server: s, op: operate(t, &root{Server: s}), query: query}
}

func (s *store) config(open locks.Opener) lockstest.Config {
	c := lockstest.Config{
		Open: open,
		URL: func(t testing.TB) *url.URL {
			s.mu.Lock()
			s.n++
			chroot := fmt.Sprintf("/test %d", s.n)
			s.mu.Unlock()
			return &url.URL{Scheme: "zk", Host: s.proxies.New(t, s.server.Addr()), Path: chroot, RawQuery: s.query}
		},
		Twin: func(t testing.TB, u *url.URL) *url.URL {
			return &url.URL{Scheme: "zk", Host: s.proxies.New(t, s.server.Addr()), Path: u.Path, RawQuery: s.query}
		},
		TTL: 3 * time.Second, Fair: s.query == "", Places: true,
		Cut: func(_ testing.TB, u *url.URL, how lockstest.Cut) (heal func()) { return s.proxies.Cut(u.Host, how) },
		Evict: func(_ testing.TB, u *url.URL, name string) {
			if leader := s.leader(u, name); leader != "" {
				s.op.delete(leader)
			}
		},
		Restart: func(t testing.TB, _ *url.URL) {
			s.server.Kill()
			s.server.Start()
			drive.Eventually(t, drive.Patience, "the operator is connected again", func() bool {
				_, _, err := s.op.Exists("/")
				return err == nil
			})
		},
		Hostile:        s.hostile(),
		Abilities:      known.ZooKeeper.Abilities,
		HostileRecords: s.hostileAt("%record"),
		HostileAsks:    s.hostileAt("%ask"),
		HostileEntries: s.hostileEntries(),
		Foreign:        s.theirs(),
		Adopts:         true,
		Connections: func(_ testing.TB, u *url.URL) int {
			return s.proxies.Find(u.Host).Open()
		},
		Leftovers: func(_ testing.TB, u *url.URL) []string {
			return slices.DeleteFunc(s.op.tree(u.Path), func(path string) bool {
				return strings.HasSuffix(path, "%record") || strings.HasSuffix(path, "%ask")
			})
		},
		Kept: func(_ testing.TB, u *url.URL) []string { return slices.DeleteFunc(s.op.tree(u.Path), s.op.isQueue) },
	}
	if !c.Fair {
		c.Abilities = slices.DeleteFunc(slices.Clone(c.Abilities), func(a locks.Ability) bool { return a == locks.CanQueue })
	} else {
		c.Crowd = func(_ testing.TB, u *url.URL, name string, n int) {
			for i := range n {
				s.op.put(fmt.Sprintf("%s/%d-n_1%09d", lockPath(u, name), i, i), string(queue.NewLabel(options("crowd"))))
			}
		}
	}
	return c
}

// lockPath returns the path of a lock.
func lockPath(u *url.URL, name string) string {
	return u.Path + "/" + locks.EscapeName(name)
}

// leader returns the path of the node that leads, or "".
func (s *store) leader(u *url.URL, name string) string {
	path := lockPath(u, name)
	if s.query != "" {
		if exists, _, err := s.op.Exists(path); err != nil || !exists {
			return ""
		}
		return path
	}
	if all := s.op.entries(path); len(all) > 0 {
		return path + "/" + all[0]
	}
	return ""
}

// hostile overwrites the node that leads, or creates one if there is none.
func (s *store) hostile() (all []func(testing.TB, *url.URL, string)) {
	for _, value := range []string{
		"", "null", "\x00\x1b]0;owned\x07\xff", `{"holder":1,"pid":"x","since":{},"ttl":[]}`,
		`{"holder":"\u001b[2J\u0000","host":"\n","pid":-1,"since":"9999-12-31T23:59:59Z","ttl":"-1h"}`,
		strings.Repeat(`{"a":`, 10_000), `{"holder":"` + strings.Repeat("x", 1<<20-1<<10) + `"}`,
	} {
		all = append(all, func(_ testing.TB, u *url.URL, name string) {
			path := s.leader(u, name)
			if path == "" && s.query == "" {
				path = lockPath(u, name) + "/0-n_0000000000"
			} else if path == "" {
				path = lockPath(u, name)
			}
			s.op.put(path, value)
		})
	}
	if s.query != "" {
		return all
	}
	for _, child := range []string{"x", "-n_1", "x-n_", "x-n_99999999999", "x-n_-1", "\u00a0-n_1/deep"} {
		all = append(all, func(_ testing.TB, u *url.URL, name string) { s.op.put(lockPath(u, name)+"/"+child, "x") })
	}
	return all
}

// hostileAt writes a lock's record or request.
func (s *store) hostileAt(what string) (all []func(testing.TB, *url.URL, string)) {
	for _, value := range []string{"", "null", "\x00\xff", `{"token":"x","text":{}}`, strings.Repeat(`{"a":`, 10_000), strings.Repeat("x", 1<<20-1<<10)} {
		all = append(all, func(_ testing.TB, u *url.URL, name string) { s.op.put(lockPath(u, name)+what, value) })
	}
	return all
}

// theirs creates nodes of somebody else where the lock's node would be: with content, with a node
// below, with an entry that belongs to no session, and one that ends with a session.
func (s *store) theirs() (all []func(testing.TB, *url.URL, string) func() string) {
	create := map[string]func(t testing.TB, path string){
		"content": func(_ testing.TB, path string) { s.op.put(path, "host=db1") },
		"below":   func(_ testing.TB, path string) { s.op.put(path+"/config", "host=db1") },
		"entry": func(_ testing.TB, path string) {
			s.op.put(path, "leaderrun queue")
			s.op.put(path+"/X-n_0000000000", "x")
		},
		"session": func(t testing.TB, path string) {
			s.op.put(path+"%record", "{}")
			if err := s.op.Create(path, []byte(`{"host": "db1"}`), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
				t.Fatal(err)
			}
		},
	}
	for _, kind := range slices.Sorted(maps.Keys(create)) {
		all = append(all, func(t testing.TB, u *url.URL, name string) func() string {
			path := lockPath(u, name)
			create[kind](t, path)
			return func() string {
				data, stat, err := s.op.Get(path)
				if err != nil {
					t.Error(err)
				}
				return fmt.Sprintf("%s %d %v", data, stat.Mzxid, s.op.entries(path))
			}
		})
	}
	return all
}

// hostileEntries creates nodes next to those of locks.
func (s *store) hostileEntries() (all []func(testing.TB, *url.URL)) {
	for _, path := range []string{"mine", "mine too/child", "a%zz", "..%2Fa/x-n_1", "a%23/x-n_1", "a%2365/x-n_1", "%61%2f/x-n_1", "\u00a0/x-n_1", "%record", "%ask", "a%record%record"} {
		all = append(all, func(_ testing.TB, u *url.URL) { s.op.put(u.Path+"/"+path, "\x00\xff") })
	}
	return all
}
