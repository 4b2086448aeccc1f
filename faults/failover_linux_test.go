package faults

import (
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/postgres/pgtest"
)

// postgresPair is a server and its standby, which is asynchronous. Its faults promote the standby.
func postgresPair(t *testing.T, _ plan) *store {
	f := &failover{primary: pgtest.Start(t, pgtest.Options{})}
	f.primary.Exec("CREATE ROLE "+postgresUser+" LOGIN", "GRANT CREATE ON SCHEMA public TO "+postgresUser)
	f.standby = f.primary.Standby()
	return &store{
		servers: []string{f.primary.Addr(), f.standby.Addr()},
		faults: []fault{
			{"standby promoted", func(n *nemesis, _ *machine) bool { f.promote(); return true }},
			{"standby promoted that lacks writes", func(n *nemesis, _ *machine) bool {
				f.detach()
				n.pass()
				f.promote()
				return true
			}},
		},
		env: func(addrs []string) []string {
			return []string{"LEADERRUN_BACKEND=" + pgtest.URLOf(postgresUser, addrs...)}
		},
	}
}

// A failover has two servers, which change their roles.
type failover struct{ primary, standby *pgtest.Server }

// detach makes the standby receive nothing more.
func (f *failover) detach() {
	f.standby.Exec("ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")
	f.standby.Until("SELECT count(*) = 0 FROM pg_stat_wal_receiver")
}

// promote kills the primary and promotes the standby. The old primary returns as its standby.
func (f *failover) promote() {
	f.primary.Kill()
	f.standby.Exec("SELECT pg_promote()")
	f.primary.Follow(f.standby)
	f.primary, f.standby = f.standby, f.primary
}
