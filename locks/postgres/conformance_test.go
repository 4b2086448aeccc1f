package postgres

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/helper"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/postgres/pgtest"
	"github.com/leaderrun/leaderrun/locks/postgres/postgresinfo"
)

func TestConformance(t *testing.T) { lockstest.Run(t, newRig(t).config(Open)) }

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

// A rig is one server, which all tests of a suite share, each with a schema and proxies of
// its own.
type rig struct {
	server  *pgtest.Server
	proxies faultproxy.Set

	mu sync.Mutex
	n  int
}

func newRig(t *testing.T) *rig { return &rig{server: pgtest.Start(t, pgtest.Options{})} }

// schema makes a schema.
func (r *rig) schema() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	name := fmt.Sprintf(`te"st %d`, r.n)
	r.server.Exec("CREATE SCHEMA " + quote(name))
	return name
}

// url is the address of the locks in a schema, through a proxy.
func (r *rig) url(t testing.TB, schema string) *url.URL {
	return &url.URL{
		Scheme: "postgres", User: url.User(pgtest.User), Host: r.proxies.New(t, r.server.Addr()), Path: "/postgres",
		RawQuery: url.Values{"sslmode": {"disable"}, "schema": {schema}}.Encode(),
	}
}

func (r *rig) config(open locks.Opener) lockstest.Config {
	return lockstest.Config{
		Open: open,
		URL:  func(t testing.TB) *url.URL { return r.url(t, r.schema()) },
		Twin: func(t testing.TB, u *url.URL) *url.URL { return r.url(t, u.Query().Get("schema")) },
		TTL:  2 * time.Second, Abilities: postgresinfo.Info.Abilities,
		TellsLeft: true, TellsStart: true, Adopts: true,
		Cut: func(_ testing.TB, u *url.URL, how lockstest.Cut) (heal func()) { return r.proxies.Cut(u.Host, how) },
		Evict: func(_ testing.TB, u *url.URL, name string) {
			r.exec(u, "DELETE FROM @table WHERE name = "+literal(name)+"; NOTIFY "+in(u).channel()+", "+literal(name))
		},
		Restart: func(testing.TB, *url.URL) { r.server.Kill(); r.server.Start() },
		Hostile: r.hostile(), HostileRecords: r.hostileTexts(), HostileAsks: r.hostileAsks(), HostileEntries: r.hostileNames(),
		Connections: func(_ testing.TB, u *url.URL) int { return r.proxies.Find(u.Host).Open() },
		Kept: func(_ testing.TB, u *url.URL) (all []string) {
			return r.rows(u, "SELECT name, part, convert_from(state, 'UTF8') FROM @table")
		},
		Leftovers: func(_ testing.TB, u *url.URL) (held []string) {
			for _, row := range r.rows(u, "SELECT convert_from(state, 'UTF8'), extract(epoch from clock_timestamp()-updated)*1000 FROM @table WHERE part = 0") {
				state, age, _ := strings.Cut(row, "\t")
				if stillHeld(state, age) {
					held = append(held, row)
				}
			}
			return held
		},
	}
}

// stillHeld reports that a row keeps anybody from having the lock. The rows themselves
// stay: their tokens live on.
func stillHeld(state, age string) bool {
	var r struct {
		State string
		TTLms float64 `json:"ttl_ms"`
	}
	_ = json.Unmarshal([]byte(state), &r)
	var ms float64
	_, _ = fmt.Sscan(age, &ms)
	return r.State != "free" && (r.TTLms <= 0 || ms < r.TTLms)
}

func in(u *url.URL) *settings { return &settings{schema: u.Query().Get("schema")} }

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// exec runs a statement on the table of an address, which is made if need be.
func (r *rig) exec(u *url.URL, statement string) [][]string {
	return r.server.Exec(in(u).tableSQL(), in(u).sql(statement))
}

func (r *rig) rows(u *url.URL, statement string) (all []string) {
	for _, row := range r.exec(u, statement) {
		all = append(all, strings.Join(row, "\t"))
	}
	return all
}

// put writes a column of a row, which is made if need be.
func (r *rig) put(u *url.URL, name string, part int, column, value string) {
	r.exec(u, fmt.Sprintf(`INSERT INTO @table (name, part, %[3]s) VALUES (%[1]s, %[2]d, '\x%[4]x')
		ON CONFLICT (name, part) DO UPDATE SET version = DEFAULT, %[3]s = excluded.%[3]s, updated = clock_timestamp()`,
		literal(name), part, column, value))
}

// hostile writes over the state of a lock, or makes a row with it.
func (r *rig) hostile() (all []func(testing.TB, *url.URL, string)) {
	for _, value := range []string{
		"", "null", "\x00\x1b]0;owned\x07\xff", `{"state":1,"ttl_ms":"x","nonce":{}}`,
		`{"state":"held","nonce":"\u001b[2J\u0000","ttl_ms":0}`,
		`{"state":"held","nonce":"n","ttl_ms":1000000000000,"holder":"\n"}`,
		`{"state":"held","nonce":"n","ttl_ms":2000,"token":18446744073709551615}`,
		`{"state":"held","nonce":"n","ttl_ms":2000,"holder":"\u001b[2J\u0000","host":"\n","pid":-1,"since":"9999-12-31T23:59:59Z"}`,
		strings.Repeat(`{"a":`, 10_000), `{"state":"held","nonce":"n","ttl_ms":2000,"holder":"` + strings.Repeat("x", 300<<10) + `"}`,
	} {
		all = append(all, func(_ testing.TB, u *url.URL, name string) { r.put(u, name, 0, "state", value) })
	}
	return all
}

// hostileTexts writes in the place of the text that a Recorder keeps.
func (r *rig) hostileTexts() (all []func(testing.TB, *url.URL, string)) {
	for _, value := range []string{"", "\x00\x1b]0;owned\x07\xff", "\x00\x1b[2J", strings.Repeat("x", locks.MaxRecord+1), strings.Repeat("x", 1<<20)} {
		all = append(all, func(_ testing.TB, u *url.URL, name string) { r.put(u, name, 0, "text", value) })
	}
	return all
}

// hostileAsks writes in the place of what a holder is asked.
func (r *rig) hostileAsks() (all []func(testing.TB, *url.URL, string)) {
	for _, value := range []string{"", "null", `{"token":-1,"nonce":{}}`, "\x00\x1b]0;owned\x07\xff", strings.Repeat(`{"a":`, 10_000), strings.Repeat("x", 300<<10)} {
		all = append(all, func(_ testing.TB, u *url.URL, name string) { r.put(u, name, 1, "state", value) })
	}
	return all
}

// hostileNames makes rows that are no locks.
func (r *rig) hostileNames() (all []func(testing.TB, *url.URL)) {
	for _, name := range []string{"", "a b", "/", "a//b", "x#99", "\u202e", "\x1b[2J", strings.Repeat("x", 2000)} {
		all = append(all, func(_ testing.TB, u *url.URL) { r.put(u, name, 0, "state", "?") })
	}
	return append(all, func(_ testing.TB, u *url.URL) { r.put(u, "foreign", 7, "state", "?") })
}
