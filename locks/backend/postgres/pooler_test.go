package postgres

import (
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend/postgres/pgtest"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

// TestPooler checks that everything except notifications works through a pooler that lends
// its connections for single transactions, and that the store notices the pooler.
func TestPooler(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	addr := pgtest.StartPooler(t, server, pgtest.User, "transaction").Addr()
	var stores []*store
	for range 4 { // more than the pooler has connections
		stores = append(stores, openStore(t, strings.Replace(server.URL(), server.Addr(), addr, 1)))
	}
	ctx := storetest.Within(t, realserver.Ready)
	c := storetest.Create(t, stores[0], jobs)
	for i := range 20 {
		s := stores[i%len(stores)]
		if now := storetest.Must(t)(s.Read(ctx, jobs)); now.Version != c.Version {
			t.Fatalf("read %+v; want %+v", now, c)
		}
		c = storetest.Must(t)(s.Swap(ctx, jobs, c, caslease.Value{State: "{}"}))
	}
	_, err := stores[0].Swap(ctx, jobs, c, caslease.Value{State: "{}", MinAge: time.Hour})
	storetest.IsKind(t, stores[0], err, causes.Changed)
	_, err = stores[0].Watch(ctx, "jobs")
	storetest.IsKind(t, stores[0], err, causes.Refused)
	if rows := server.Exec("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"); rows[0][0] != "0" {
		t.Error("a shared connection listens")
	}
	for _, row := range server.Exec("SELECT DISTINCT application_name, state FROM pg_stat_activity WHERE application_name = 'leaderrun'") {
		if row[1] != "idle" {
			t.Errorf("a shared connection is left in state %s", row[1])
		}
	}
}
