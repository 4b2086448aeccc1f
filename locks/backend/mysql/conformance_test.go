package mysql

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/backend/mysql/mysqltest"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
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
	r := newRig(t, odd...)
	u := r.url(t)
	storetest.Run(t, storetest.Config{
		Open:        func(t testing.TB) caslease.Store { return openStore(t, u) },
		Unreachable: func(t testing.TB) caslease.Store { return openStore(t, mysqltest.At("127.0.0.1:1", "x")) },
		Expiry:      caslease.ByClock, Follows: rows.Follows, Hostile: r.table().Spoil(u),
	})
}

func TestSlots(t *testing.T) { lockstest.RunSlots(t, newRig(t).config(Open)) }

// A rig is one server. All tests of a suite share it, each with its own database and proxies.
type rig struct {
	server  *mysqltest.Server
	proxies faultproxy.Set
	n       atomic.Int64
}

func newRig(t *testing.T, options ...string) *rig {
	return &rig{server: mysqltest.Start(t, options...)}
}

// url creates a database, and returns its address through a proxy.
func (r *rig) url(t testing.TB) *url.URL {
	name := fmt.Sprintf("te`st %d", r.n.Add(1))
	r.server.Exec("CREATE DATABASE " + quote(name))
	return r.through(t, name)
}

func (r *rig) through(t testing.TB, database string) *url.URL {
	return mysqltest.At(r.proxies.New(t, r.server.Addr()), database)
}

func (r *rig) config(open locks.Opener) lockstest.Config {
	direct := func(t testing.TB, u *url.URL) caslease.Store {
		return openStore(t, mysqltest.At(r.server.Addr(), in(u).database))
	}
	c := storetest.Conformance(&store{}, traits(&settings{}), direct)
	c.Open, c.TTL, c.Abilities, c.URL = open, 2*time.Second, known.MySQL.Abilities, r.url
	c.Twin = func(t testing.TB, u *url.URL) *url.URL { return r.through(t, in(u).database) }
	c.Cut = func(_ testing.TB, u *url.URL, how lockstest.Cut) (heal func()) { return r.proxies.Cut(u.Host, how) }
	c.Restart = func(testing.TB, *url.URL) { r.server.Kill(); r.server.Start() }
	c.Connections = func(_ testing.TB, u *url.URL) int { return r.proxies.Find(u.Host).Open() }
	r.table().Extend(&c)
	return c
}

func in(u *url.URL) *settings { return &settings{database: u.Path[1:]} }

// table is what anybody can do to the table. Strict mode would refuse long values.
func (r *rig) table() rowstest.Table {
	return rowstest.Table{
		Exec: func(u *url.URL, statement string) [][]string {
			return r.server.Exec("SET SESSION sql_mode = ''", in(u).sql(tableSQL, nil), in(u).sql(statement, nil))
		},
		Put: `INSERT INTO @table (name, part, version, first, @column, updated) VALUES (@name, @part, 1, 1, @value, UTC_TIMESTAMP(6))
			ON DUPLICATE KEY UPDATE version = version + 1, @column = @value, updated = UTC_TIMESTAMP(6)`,
		Bytes:   func(text string) string { return "X'" + hex.EncodeToString([]byte(text)) + "'" },
		State:   "state",
		Updated: "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', updated)",
	}
}
