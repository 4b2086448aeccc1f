package postgres

import (
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/caslease"
	"github.com/leaderrun/leaderrun/locks/caslease/storetest"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// The store keeps what every one promises.
func TestStore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	schema := r.schema()
	c := storetest.Config{
		Open:   func(t testing.TB) caslease.Store { return r.store(t, schema, r.server.Addr()) },
		Away:   func(t testing.TB) caslease.Store { return r.store(t, schema, "127.0.0.1:1") },
		Expiry: caslease.ByClock, Rose: rose,
	}
	for _, value := range []string{"", "\x00\xff", strings.Repeat("x", 300<<10)} {
		c.Hostile = append(c.Hostile, func(t testing.TB, k caslease.Key) {
			r.put(r.url(t, schema), k.Name, int(k.Part), "state", value)
		})
	}
	storetest.Run(t, c)
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
