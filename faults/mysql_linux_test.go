package faults

import (
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/mysql/mysqltest"
)

// mysqlUser may only do what a run needs, and create the table.
const mysqlUser = "runner"

func mysqlStore(t *testing.T, p plan) *store {
	s := mysqltest.Start(t)
	s.Exec("CREATE USER "+mysqlUser, "GRANT CREATE, SELECT, INSERT, UPDATE, DELETE ON "+mysqltest.Database+".* TO "+mysqlUser)
	all := append(serverFaults(s),
		fault{"connections ended", func(*nemesis, *machine) bool { s.Exec("KILL USER " + mysqlUser); return true }},
		fault{"statements cancelled", func(*nemesis, *machine) bool { s.Exec("KILL QUERY USER " + mysqlUser); return true }},
		mysqlState(s, "read-only", "SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0"),
		mysqlState(s, "credentials withdrawn", "ALTER USER "+mysqlUser+" ACCOUNT LOCK; KILL USER "+mysqlUser, "ALTER USER "+mysqlUser+" ACCOUNT UNLOCK"),
		fault{"row locked by others", func(n *nemesis, _ *machine) bool {
			if !mysqlTable(s) {
				return false
			}
			free := s.Hold("SELECT * FROM leaderrun_locks FOR UPDATE")
			n.pass()
			free()
			return true
		}},
	)
	all = append(all, clockFaults(s, p.strict, "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS INTEGER)", func() bool { return mysqlTable(s) })...)
	if p.strict {
		all = append(all, mysqlOperator(s, "lock deleted", "DELETE FROM leaderrun_locks WHERE state LIKE '%\"held\"%' RETURNING 1"),
			mysqlOperator(s, "table dropped", "DROP TABLE leaderrun_locks; SELECT 1"))
	}
	return &store{
		servers: []string{s.Addr()}, faults: all, several: true,
		env: func(addrs []string) []string {
			return []string{"LEADERRUN_BACKEND=" + mysqltest.URLOf(mysqlUser, addrs...)}
		},
	}
}

// mysqlState is a fault that lasts from one statement to another.
func mysqlState(s *mysqltest.Server, name, begin, end string) fault {
	return fault{name, func(n *nemesis, _ *machine) bool {
		s.Exec(begin)
		n.pass()
		s.Exec(end)
		return true
	}}
}

// mysqlOperator ends running terms.
func mysqlOperator(s *mysqltest.Server, name, statement string) fault {
	return fault{name, func(*nemesis, *machine) bool { return mysqlTable(s) && len(s.Exec(statement)) > 0 }}
}

// mysqlTable reports that a run has made the table.
func mysqlTable(s *mysqltest.Server) bool {
	return len(s.Exec("SHOW TABLES LIKE 'leaderrun_locks'")) > 0
}
