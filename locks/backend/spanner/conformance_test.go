package spanner

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/backend/spanner/spannertest"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

func TestConformance(t *testing.T) { lockstest.Run(t, newRig(t).config(Open)) }

func TestSlots(t *testing.T) { lockstest.RunSlots(t, newRig(t).config(Open)) }

// TestStore checks what the recipe relies on, in both dialects.
func TestStore(t *testing.T) {
	for _, postgres := range []bool{false, true} {
		t.Run(fmt.Sprint("postgres=", postgres), func(t *testing.T) {
			t.Parallel()
			s := spannertest.Start(t)
			d := s.New(postgres)
			c := storetest.Config{
				Open:        func(t testing.TB) caslease.Store { return at(t, d, s.Addr()) },
				Unreachable: func(t testing.TB) caslease.Store { return at(t, d, "127.0.0.1:1") },
				Expiry:      caslease.ByClock, Follows: follows,
			}
			for _, value := range garbage() {
				c.Hostile = append(c.Hostile, func(_ testing.TB, k caslease.Key) { d.Put(k.Name, int(k.Part), "state", value) })
			}
			storetest.Run(t, c)
		})
	}
}

// A rig is one emulator. All tests of a suite share it, each with its own database and
// proxies.
type rig struct {
	server  *spannertest.Server
	front   *spannertest.Front // can be restarted without a loss of data
	proxies faultproxy.Set
}

func newRig(t *testing.T) *rig {
	s := spannertest.Start(t)
	return &rig{server: s, front: s.Front(t)}
}

func (r *rig) config(open locks.Opener) lockstest.Config {
	direct := func(t testing.TB, u *url.URL) caslease.Store { return at(t, r.server.Find(u), r.server.Addr()) }
	c := storetest.Conformance(&store{}, traits(&settings{}), direct)
	c.Open, c.TTL, c.Abilities = open, 2*time.Second, known.Spanner.Abilities
	c.URL = func(t testing.TB) *url.URL { return r.server.New(false).URL(r.proxies.New(t, r.front.Addr())) }
	c.Twin = func(t testing.TB, u *url.URL) *url.URL {
		return r.server.Find(u).URL(r.proxies.New(t, r.front.Addr()))
	}
	c.Cut = func(_ testing.TB, u *url.URL, how lockstest.Cut) (heal func()) { return r.proxies.Cut(host(u), how) }
	c.Restart = func(testing.TB, *url.URL) { r.front.Stop(); r.front.Start() }
	c.Connections = func(_ testing.TB, u *url.URL) int { return r.proxies.Find(host(u)).Open() }
	c.Hostile = append(c.Hostile, r.hostile(0, "state", garbage()...)...)
	c.HostileAsks = append(c.HostileAsks, r.hostile(1, "state", garbage()...)...)
	c.HostileRecords = r.hostile(0, "record", base64s("", "\x00\x1b[2J", "\xff", strings.Repeat("x", locks.MaxRecord+1), strings.Repeat("x", 1<<20))...)
	c.HostileEntries = r.hostileNames()
	c.Kept = func(_ testing.TB, u *url.URL) (all []string) {
		for _, row := range r.server.Find(u).Exec("SELECT name, part, state FROM leaderrun_locks") {
			all = append(all, strings.Join(row, "\t"))
		}
		return all
	}
	c.Leftovers = func(t testing.TB, u *url.URL) (held []string) { // free rows stay, so that tokens go on rising
		for _, row := range r.server.Find(u).Exec("SELECT state, updated FROM leaderrun_locks WHERE part = 0") {
			updated, err := time.Parse(time.RFC3339Nano, row[1])
			if err != nil {
				t.Fatal(err)
			}
			if storetest.Held(caslease.Cell{State: row[0], Updated: updated}) {
				held = append(held, row[0])
			}
		}
		return held
	}
	return c
}

// host returns the host and port of a store.
func host(u *url.URL) string { return strings.TrimPrefix(u.Query().Get("endpoint"), "http://") }

// garbage returns values that anybody can write into the table, in addition to
// [storetest.States].
func garbage() []string {
	return []string{"", "\x1b]0;owned\x07", "?", strings.Repeat(`{"a":`, 10_000), strings.Repeat("é", 1<<19)}
}

func base64s(all ...string) (encoded []string) {
	for _, text := range all {
		encoded = append(encoded, base64.StdEncoding.EncodeToString([]byte(text)))
	}
	return encoded
}

// hostile overwrites a column of a lock's row.
func (r *rig) hostile(part int, column string, values ...string) (all []func(testing.TB, *url.URL, string)) {
	for _, value := range values {
		all = append(all, func(_ testing.TB, u *url.URL, name string) { r.server.Find(u).Put(name, part, column, value) })
	}
	return all
}

// hostileNames creates rows that are not locks.
func (r *rig) hostileNames() (all []func(testing.TB, *url.URL)) {
	for _, name := range []string{"", "a b", "/", "a//b", "x#99", "\u202e", "\x1b[2J", strings.Repeat("é", 256)} {
		all = append(all, func(_ testing.TB, u *url.URL) { r.server.Find(u).Put(name, 0, "state", "?") })
	}
	return append(all, func(_ testing.TB, u *url.URL) { r.server.Find(u).Put("foreign", 7, "state", "?") })
}

// TestMain sets an address without a server. Otherwise, a test that forgets to name an
// emulator would reach the service itself.
func TestMain(m *testing.M) {
	tester.Forget()
	_ = os.Setenv("SPANNER_EMULATOR_HOST", "127.0.0.1:1")
	drive.Parallel("4")
	os.Exit(m.Run())
}
