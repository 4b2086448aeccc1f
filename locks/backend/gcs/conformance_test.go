package gcs_test

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gcs"
	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

func TestConformance(t *testing.T) { lockstest.Run(t, newStore(t).config(gcs.Open)) }

func TestSlots(t *testing.T) { lockstest.RunSlots(t, newStore(t).config(gcs.Open)) }

// A store is one emulator. All tests of a suite share it, each with its own prefix and
// proxies.
type store struct {
	server *gcstest.Server

	proxies faultproxy.Set

	mu sync.Mutex
	n  int
}

func newStore(t *testing.T) *store {
	return &store{server: gcstest.Start(t)}
}

func (s *store) config(open locks.Opener) lockstest.Config {
	return lockstest.Config{
		Open: open,
		URL: func(t testing.TB) *url.URL {
			s.mu.Lock()
			s.n++
			prefix := fmt.Sprintf("test %d", s.n)
			s.mu.Unlock()
			return gcstest.URL(s.proxies.New(t, s.server.Addr()), prefix)
		},
		Twin: func(t testing.TB, u *url.URL) *url.URL {
			return gcstest.URL(s.proxies.New(t, s.server.Addr()), strings.Trim(u.Path, "/"))
		},
		TTL: 3 * time.Second, Polling: 3 * time.Second, Unwatched: true, HTTP: true,
		Abilities: known.GCS.Abilities, AskDelay: time.Second, ReportsLeft: true, ReportsStart: true, Adopts: true,
		Cut:     func(_ testing.TB, u *url.URL, how lockstest.Cut) (heal func()) { return s.proxies.Cut(host(u), how) },
		Evict:   func(_ testing.TB, u *url.URL, name string) { s.server.Delete(object(u, name)) },
		Restart: func(_ testing.TB, _ *url.URL) { s.server.Stop(); s.server.Start() },
		Hostile: s.hostile(), HostileRecords: s.hostileRecords(), HostileAsks: s.hostileAsks(),
		Connections: func(_ testing.TB, u *url.URL) int {
			return s.proxies.Find(host(u)).Open()
		},
		HostileEntries: s.hostileEntries(),
		Foreign: []func(testing.TB, *url.URL, string) func() string{func(_ testing.TB, u *url.URL, name string) func() string {
			s.server.SetMetadata(object(u, name), map[string]string{"owner": "x"})
			return func() string { o, _ := s.server.Object(object(u, name)); return fmt.Sprintf("%+v", o) }
		}},
		Kept: func(_ testing.TB, u *url.URL) (all []string) {
			for _, o := range s.server.Objects(strings.Trim(u.Path, "/") + "/") {
				all = append(all, fmt.Sprint(o))
			}
			return all
		},
		Leftovers: func(_ testing.TB, u *url.URL) (held []string) {
			for _, o := range s.server.Objects(strings.Trim(u.Path, "/") + "/") {
				if !strings.HasSuffix(o.Name, "~ask") && stillHeld(o) {
					held = append(held, o.Name+" = "+o.Metadata["leaderrun"])
				}
			}
			return held
		},
	}
}

// stillHeld reports whether an object keeps others from acquiring the lock. The objects
// themselves stay, so that tokens go on rising.
func stillHeld(o gcstest.Object) bool {
	return storetest.Held(caslease.Cell{State: o.Metadata["leaderrun"], Updated: o.Updated})
}

func object(u *url.URL, name string) string {
	return strings.Trim(u.Path, "/") + "/" + locks.EscapeName(name)
}

// host returns the host and port of a store.
func host(u *url.URL) string { return strings.TrimPrefix(u.Query().Get("endpoint"), "http://") }

// hostile overwrites the state of a lock. It creates the object if there is none.
func (s *store) hostile() (all []func(testing.TB, *url.URL, string)) {
	for _, value := range []string{
		"", "null", "\x00\x1b]0;owned\x07\xff", `{"state":1,"ttl_ms":"x","nonce":{}}`,
		`{"state":"held","nonce":"\u001b[2J\u0000","ttl_ms":0}`,
		`{"state":"held","nonce":"n","ttl_ms":1000000000000,"holder":"\n"}`,
		`{"state":"held","nonce":"n","ttl_ms":2000,"token":18446744073709551615}`,
		`{"state":"held","nonce":"n","ttl_ms":2000,"holder":"\u001b[2J\u0000","host":"\n","pid":-1,"since":"9999-12-31T23:59:59Z"}`,
		strings.Repeat(`{"a":`, 10_000), `{"state":"held","nonce":"n","ttl_ms":2000,"holder":"` + strings.Repeat("x", 300<<10) + `"}`,
	} {
		all = append(all, func(_ testing.TB, u *url.URL, name string) {
			s.server.SetMetadata(object(u, name), map[string]string{"leaderrun": value})
		})
	}
	return all
}

// hostileRecords overwrites the record.
func (s *store) hostileRecords() (all []func(testing.TB, *url.URL, string)) {
	for _, value := range []string{"", "\x00\x1b]0;owned\x07\xff", "base64:?", "base64:/w==", "base64:" + strings.Repeat("eHh4", 1500), "base64:AAobWzJK"} {
		all = append(all, func(_ testing.TB, u *url.URL, name string) {
			s.server.SetMetadata(object(u, name), map[string]string{"leaderrun-record": value})
		})
	}
	return all
}

// hostileEntries creates objects under the prefix that are not locks.
func (s *store) hostileEntries() (all []func(testing.TB, *url.URL)) {
	for name, value := range map[string]string{"a b": "", "%2": "?", "%61": "", "a%2fb": "?", "deeper/x": "", "x~ask": "?", "\u202e": "", "foreign": strings.Repeat("x", 300<<10)} {
		all = append(all, func(_ testing.TB, u *url.URL) {
			s.server.SetMetadata(strings.Trim(u.Path, "/")+"/"+name, map[string]string{"leaderrun": value})
		})
	}
	return all
}

// hostileAsks overwrites the request to a holder.
func (s *store) hostileAsks() (all []func(testing.TB, *url.URL, string)) {
	for _, value := range []string{
		"", "null", `{"token":-1,"nonce":{}}`, "\x00\x1b]0;owned\x07\xff", strings.Repeat(`{"a":`, 10_000), strings.Repeat("x", 300<<10),
	} {
		all = append(all, func(_ testing.TB, u *url.URL, name string) {
			s.server.SetMetadata(object(u, name)+"~ask", map[string]string{"leaderrun-ask": value})
		})
	}
	return all
}
