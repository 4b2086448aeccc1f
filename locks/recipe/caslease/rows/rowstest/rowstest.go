// Package rowstest has what the tests of stores in SQL share: what anybody who may write to
// the table can do to it.
package rowstest

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

// A Table is a store's table in the SQL of its server.
type Table struct {
	// Exec runs a statement in which @table stands for the table of an address. If there is no
	// table, Exec creates it.
	Exec func(u *url.URL, statement string) [][]string
	// Put is a statement that writes @value into @column of the row (@name, @part), which it
	// creates if there is none.
	Put string
	// Bytes returns a literal of bytes.
	Bytes func(text string) string
	// State and Updated are expressions: the state as text, and when the row was written, in
	// microseconds since 1970.
	State, Updated string
}

func (t Table) put(u *url.URL, name string, part caslease.Part, column, value string) {
	t.Exec(u, strings.NewReplacer("@name", t.Bytes(name), "@part", strconv.Itoa(int(part)), "@column", column, "@value", t.Bytes(value)).Replace(t.Put))
}

// garbage returns values in addition to [storetest.States].
func garbage() []string {
	return []string{"", "\x00\x1b]0;owned\x07\xff", strings.Repeat(`{"a":`, 10_000), strings.Repeat("x", 1<<20)}
}

// Spoil returns what overwrites the state of a cell, for [storetest.Config].
func (t Table) Spoil(u *url.URL) (all []func(testing.TB, caslease.Key)) {
	for _, value := range garbage() {
		all = append(all, func(_ testing.TB, k caslease.Key) { t.put(u, k.Name, k.Part, "state", value) })
	}
	return all
}

// Extend adds to a Config what can be done to the table, and what is in it.
func (t Table) Extend(c *lockstest.Config) {
	c.Hostile = append(c.Hostile, t.hostile(caslease.Lease, "state", garbage()...)...)
	c.HostileAsks = append(c.HostileAsks, t.hostile(caslease.Request, "state", garbage()...)...)
	c.HostileRecords = t.hostile(caslease.Lease, "text", append(garbage(), "\x00\x1b[2J", strings.Repeat("x", locks.MaxRecord+1))...)
	for _, name := range []string{"", "a b", "/", "a//b", "x#99", "\u202e", "\x1b[2J", strings.Repeat("x", 2000)} {
		c.HostileEntries = append(c.HostileEntries, func(_ testing.TB, u *url.URL) { t.put(u, name, caslease.Lease, "state", "?") })
	}
	c.HostileEntries = append(c.HostileEntries, func(_ testing.TB, u *url.URL) { t.put(u, "foreign", 7, "state", "?") })
	c.Kept = func(_ testing.TB, u *url.URL) (all []string) {
		for _, row := range t.Exec(u, "SELECT name, part, "+t.State+" FROM @table") {
			all = append(all, strings.Join(row, "\t"))
		}
		return all
	}
	c.Leftovers = func(_ testing.TB, u *url.URL) (held []string) { // free rows stay, so that tokens go on rising
		for _, row := range t.Exec(u, "SELECT "+t.State+", "+t.Updated+" FROM @table WHERE part = 0") {
			updated, _ := strconv.ParseInt(row[1], 10, 64)
			if storetest.Held(caslease.Cell{State: row[0], Updated: time.UnixMicro(updated)}) {
				held = append(held, row[0])
			}
		}
		return held
	}
}

// hostile overwrites a column of a lock's row.
func (t Table) hostile(part caslease.Part, column string, values ...string) (all []func(testing.TB, *url.URL, string)) {
	for _, value := range values {
		all = append(all, func(_ testing.TB, u *url.URL, name string) { t.put(u, name, part, column, value) })
	}
	return all
}
