package postgres

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/postgres/pgtest"
	"github.com/leaderrun/leaderrun/locks/backend/postgres/postgresinfo"
	"github.com/leaderrun/leaderrun/locks/helper"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

func TestConformance(t *testing.T) { lockstest.Run(t, newRig(t).config(Open)) }

// TestStore checks what the recipe relies on.
func TestStore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	schema := r.schema()
	c := storetest.Config{
		Open:        func(t testing.TB) caslease.Store { return r.store(t, schema, r.server.Addr()) },
		Unreachable: func(t testing.TB) caslease.Store { return r.store(t, schema, "127.0.0.1:1") },
		Expiry:      caslease.ByClock, Follows: follows,
	}
	for _, value := range garbage() {
		c.Hostile = append(c.Hostile, func(t testing.TB, k caslease.Key) {
			r.put(r.url(t, schema), k.Name, int(k.Part), "state", value)
		})
	}
	storetest.Run(t, c)
}

func TestSlots(t *testing.T) { lockstest.RunSlots(t, newRig(t).config(Open)) }

func TestConformanceThroughHelper(t *testing.T) {
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", dir, "./leaderrun-postgres")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lockstest.RunAgain(t, newRig(t).config((&helper.Programs{Libexec: dir}).Open))
}

// A rig is one server. All tests of a suite share it, each with its own schema and proxies.
type rig struct {
	server  *pgtest.Server
	proxies faultproxy.Set

	mu sync.Mutex
	n  int
}

func newRig(t *testing.T) *rig { return &rig{server: pgtest.Start(t, pgtest.Options{})} }

// schema creates a schema, and returns its name.
func (r *rig) schema() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	name := fmt.Sprintf(`te"st %d`, r.n)
	r.server.Exec("CREATE SCHEMA " + quote(name))
	return name
}

// url returns the address of the locks in a schema, through a proxy.
func (r *rig) url(t testing.TB, schema string) *url.URL {
	return &url.URL{
		Scheme: "postgres", User: url.User(pgtest.User), Host: r.proxies.New(t, r.server.Addr()), Path: "/postgres",
		RawQuery: url.Values{"sslmode": {"disable"}, "schema": {schema}}.Encode(),
	}
}

// store opens a store in a schema of a server at an address.
func (r *rig) store(t testing.TB, schema, addr string) *store {
	t.Helper()
	u := r.url(t, schema)
	u.Host = addr
	s, err := parse(u)
	if err != nil {
		t.Fatal(err)
	}
	return newStore(s, realserver.Ready)
}

func (r *rig) config(open locks.Opener) lockstest.Config {
	like, direct := &store{}, func(t testing.TB, u *url.URL) caslease.Store {
		return r.store(t, in(u).schema, r.server.Addr())
	}
	c := storetest.Conformance(like, traits(&settings{}), direct)
	c.Open, c.TTL, c.Abilities = open, 2*time.Second, postgresinfo.Info.Abilities
	c.URL = func(t testing.TB) *url.URL { return r.url(t, r.schema()) }
	c.Twin = func(t testing.TB, u *url.URL) *url.URL { return r.url(t, in(u).schema) }
	c.Cut = func(_ testing.TB, u *url.URL, how lockstest.Cut) (heal func()) { return r.proxies.Cut(u.Host, how) }
	c.Restart = func(testing.TB, *url.URL) { r.server.Kill(); r.server.Start() }
	c.Hostile = append(c.Hostile, r.hostile(0, "state", garbage()...)...)
	c.HostileAsks = append(c.HostileAsks, r.hostile(1, "state", garbage()...)...)
	c.HostileRecords = r.hostile(0, "text", append(garbage(), "\x00\x1b[2J", strings.Repeat("x", locks.MaxRecord+1))...)
	c.HostileEntries = r.hostileNames()
	c.Connections = func(_ testing.TB, u *url.URL) int { return r.proxies.Find(u.Host).Open() }
	c.Kept = func(_ testing.TB, u *url.URL) (all []string) {
		for _, row := range r.exec(u, "SELECT name, part, convert_from(state, 'UTF8') FROM @table") {
			all = append(all, strings.Join(row, "\t"))
		}
		return all
	}
	c.Leftovers = func(_ testing.TB, u *url.URL) (held []string) { // free rows stay, so that tokens go on rising
		for _, row := range r.exec(u, "SELECT convert_from(state, 'UTF8'), (extract(epoch from updated)*1000000)::bigint FROM @table WHERE part = 0") {
			updated, _ := strconv.ParseInt(row[1], 10, 64)
			if storetest.Held(caslease.Cell{State: row[0], Updated: time.UnixMicro(updated)}) {
				held = append(held, row[0])
			}
		}
		return held
	}
	return c
}

func in(u *url.URL) *settings { return &settings{schema: u.Query().Get("schema")} }

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// exec runs a statement on the table of an address. It creates the table if there is none.
func (r *rig) exec(u *url.URL, statement string) [][]string {
	return r.server.Exec(in(u).tableSQL(), in(u).sql(statement))
}

// put writes a column of a row. It creates the row if there is none.
func (r *rig) put(u *url.URL, name string, part int, column, value string) {
	r.exec(u, fmt.Sprintf(`INSERT INTO @table (name, part, %[3]s) VALUES (%[1]s, %[2]d, '\x%[4]x')
		ON CONFLICT (name, part) DO UPDATE SET version = DEFAULT, %[3]s = excluded.%[3]s, updated = clock_timestamp()`,
		literal(name), part, column, value))
}

// garbage returns values that anybody can write into the table, in addition to
// [storetest.States].
func garbage() []string {
	return []string{"", "\x00\x1b]0;owned\x07\xff", strings.Repeat(`{"a":`, 10_000), strings.Repeat("x", 1<<20)}
}

// hostile overwrites a column of a lock's row.
func (r *rig) hostile(part int, column string, values ...string) (all []func(testing.TB, *url.URL, string)) {
	for _, value := range values {
		all = append(all, func(_ testing.TB, u *url.URL, name string) { r.put(u, name, part, column, value) })
	}
	return all
}

// hostileNames creates rows that are not locks.
func (r *rig) hostileNames() (all []func(testing.TB, *url.URL)) {
	for _, name := range []string{"", "a b", "/", "a//b", "x#99", "\u202e", "\x1b[2J", strings.Repeat("x", 2000)} {
		all = append(all, func(_ testing.TB, u *url.URL) { r.put(u, name, 0, "state", "?") })
	}
	return append(all, func(_ testing.TB, u *url.URL) { r.put(u, "foreign", 7, "state", "?") })
}
