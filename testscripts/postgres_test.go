package testscripts

import (
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/leaderrun/leaderrun/locks/backend/postgres/pgtest"
)

// cmdPostgres is the command
//
//	postgres
//	postgres stop|start
//	postgres sql STATEMENT
//
// The first form starts a server. $PG is its address with $PORT, and LEADERRUN_BACKEND
// names it, as its superuser. The other forms stop it, start it again, and run a
// statement there.
func cmdPostgres(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) <= 2, "postgres [stop|start|sql STATEMENT]")
	w := worldOf(ts)
	switch {
	case len(args) == 0:
		w.postgres = pgtest.Start(w.tb, pgtest.Options{Auth: []string{"host all alice 127.0.0.1/32 scram-sha-256"}})
		_, port, _ := strings.Cut(w.postgres.Addr(), ":")
		ts.Setenv("PG", w.postgres.Addr())
		ts.Setenv("PORT", port)
		ts.Setenv("LEADERRUN_BACKEND", w.postgres.URL())
	case args[0] == "stop":
		w.postgres.Stop()
	case args[0] == "start":
		w.postgres.Start()
	case args[0] == "sql" && len(args) == 2:
		w.postgres.Exec(args[1])
	default:
		ts.Fatalf("unknown command postgres %q", args)
	}
}
