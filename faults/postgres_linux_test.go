package faults

import (
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/postgres/pgtest"
)

// postgresUser may only do what a run needs, and create the table.
const postgresUser = "runner"

// postgresRuns are the sessions of the holder and the waiters.
const postgresRuns = " FROM pg_stat_activity WHERE usename = '" + postgresUser + "'"

func postgresStore(t *testing.T, p plan) *store {
	return postgresOn(pgtest.Start(t, pgtest.Options{}), p)
}

// postgresPooled is a server behind a pooler that leads to a standby for a while, as it may during
// a switch of roles.
func postgresPooled(t *testing.T, p plan) *store {
	s := pgtest.Start(t, pgtest.Options{})
	all := postgresOn(s, p)
	standby, pooler := s.Standby(), pgtest.StartPooler(t, s, postgresUser, "transaction")
	all.servers = []string{pooler.Addr()}
	all.faults = append(all.faults, fault{"pooler leads to a standby", func(n *nemesis, _ *machine) bool {
		pooler.Switch(standby)
		n.pass()
		pooler.Switch(s)
		return true
	}})
	return all
}

func postgresOn(s *pgtest.Server, p plan) *store {
	s.Exec("CREATE ROLE "+postgresUser+" LOGIN", "GRANT CREATE ON SCHEMA public TO "+postgresUser)
	reload := "SELECT pg_reload_conf()"
	end := "SELECT pg_terminate_backend(pid)" + postgresRuns
	all := append(serverFaults(s),
		fault{"connections ended", func(*nemesis, *machine) bool { s.Exec(end); return true }},
		fault{"statements cancelled", func(*nemesis, *machine) bool { s.Exec("SELECT pg_cancel_backend(pid)" + postgresRuns); return true }},
		postgresState(s, "read-only", []string{"ALTER SYSTEM SET default_transaction_read_only = on", reload},
			[]string{"ALTER SYSTEM RESET default_transaction_read_only", reload}),
		postgresState(s, "credentials withdrawn", []string{"ALTER ROLE " + postgresUser + " NOLOGIN", end},
			[]string{"ALTER ROLE " + postgresUser + " LOGIN"}),
		fault{"row locked by others", func(n *nemesis, _ *machine) bool {
			if !postgresTable(s) {
				return false
			}
			free := s.Hold("SELECT * FROM leaderrun_locks FOR UPDATE")
			n.pass()
			free()
			return true
		}},
	)
	all = append(all, clockFaults(s, p.strict, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint", func() bool { return postgresTable(s) })...)
	if p.strict {
		all = append(all, postgresOperator(s, "lock deleted", "DELETE FROM leaderrun_locks WHERE convert_from(state, 'UTF8') LIKE '%\"held\"%' RETURNING true"),
			postgresOperator(s, "table dropped", "DROP TABLE leaderrun_locks; SELECT true"))
	}
	return &store{
		servers: []string{s.Addr()}, faults: all, several: true,
		env: func(addrs []string) []string {
			return []string{"LEADERRUN_BACKEND=" + pgtest.URLOf(postgresUser, addrs...)}
		},
	}
}

// postgresState is a fault that lasts from some statements to others.
func postgresState(s *pgtest.Server, name string, begin, end []string) fault {
	return fault{name, func(n *nemesis, _ *machine) bool {
		s.Exec(begin...)
		n.pass()
		s.Exec(end...)
		return true
	}}
}

// postgresOperator ends running terms.
func postgresOperator(s *pgtest.Server, name, statement string) fault {
	return fault{name, func(*nemesis, *machine) bool { return postgresTable(s) && len(s.Exec(statement)) > 0 }}
}

// postgresTable reports that a run has made the table.
func postgresTable(s *pgtest.Server) bool {
	return s.Exec("SELECT to_regclass('leaderrun_locks') IS NOT NULL")[0][0] == "t"
}
