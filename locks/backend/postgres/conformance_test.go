package postgres

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/backend/postgres/pgtest"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/rows"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/rows/rowstest"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

func TestMain(m *testing.M) { drive.Main(m, "6") }

func TestConformance(t *testing.T) { lockstest.Run(t, newRig(t).config(Open)) }

// TestStore checks what the recipe relies on.
func TestStore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	schema := r.schema()
	storetest.Run(t, storetest.Config{
		Open:        func(t testing.TB) caslease.Store { return r.store(t, schema, r.server.Addr()) },
		Unreachable: func(t testing.TB) caslease.Store { return r.store(t, schema, "127.0.0.1:1") },
		Expiry:      caslease.ByClock, Follows: rows.Follows, Hostile: r.table().Spoil(r.url(t, schema)),
	})
}

func TestSlots(t *testing.T) { lockstest.RunSlots(t, newRig(t).config(Open)) }

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
	s, err := parse(u, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	return newStore(s, realserver.Ready, nil)
}

func (r *rig) config(open locks.Opener) lockstest.Config {
	like, direct := &store{}, func(t testing.TB, u *url.URL) caslease.Store {
		return r.store(t, in(u).schema, r.server.Addr())
	}
	c := storetest.Conformance(like, traits(&settings{}), direct)
	c.Open, c.TTL, c.Abilities = open, 2*time.Second, known.Postgres.Abilities
	c.URL = func(t testing.TB) *url.URL { return r.url(t, r.schema()) }
	c.Twin = func(t testing.TB, u *url.URL) *url.URL { return r.url(t, in(u).schema) }
	c.Cut = func(_ testing.TB, u *url.URL, how lockstest.Cut) (heal func()) { return r.proxies.Cut(u.Host, how) }
	c.Restart = func(testing.TB, *url.URL) { r.server.Kill(); r.server.Start() }
	c.Connections = func(_ testing.TB, u *url.URL) int { return r.proxies.Find(u.Host).Open() }
	r.table().Extend(&c)
	return c
}

func in(u *url.URL) *settings { return &settings{schema: u.Query().Get("schema")} }

// table is what anybody can do to the table.
func (r *rig) table() rowstest.Table {
	return rowstest.Table{
		Exec: func(u *url.URL, statement string) [][]string {
			return r.server.Exec(in(u).sql(tableSQL), in(u).sql(statement))
		},
		Put: `INSERT INTO @table (name, part, @column) VALUES (convert_from(@name, 'UTF8'), @part, @value)
			ON CONFLICT (name, part) DO UPDATE SET version = DEFAULT, @column = excluded.@column, updated = clock_timestamp()`,
		Bytes:   func(text string) string { return `'\x` + hex.EncodeToString([]byte(text)) + "'" },
		State:   "convert_from(state, 'UTF8')",
		Updated: "(extract(epoch from updated)*1000000)::bigint",
	}
}
