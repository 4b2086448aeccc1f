package testscripts

import (
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/leaderrun/leaderrun/locks/backend/spanner/spannertest"
)

// cmdSpanner is the command
//
//	spanner
//	spanner table
//	spanner stop|start
//	spanner sql STATEMENT
//
// The first form starts an emulator with a database without the table. $SPANNER is its
// address, $DATABASE the database, and LEADERRUN_BACKEND names both. The others create the
// table, end all connections and accept them again, and run a statement.
func cmdSpanner(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) <= 2, "spanner [table|stop|start|sql STATEMENT]")
	w := worldOf(ts)
	switch {
	case len(args) == 0:
		s := spannertest.Start(w.tb)
		w.front = s.Front(w.tb)
		w.spanner = s.New(false)
		w.spanner.DDL("DROP TABLE leaderrun_locks")
		u := w.spanner.URL(w.front.Addr())
		ts.Setenv("SPANNER", w.front.Addr())
		ts.Setenv("DATABASE", strings.Trim(u.Host+u.Path, "/"))
		ts.Setenv("LEADERRUN_BACKEND", u.String())
	case args[0] == "table":
		w.spanner.Table()
	case args[0] == "stop":
		w.front.Stop()
	case args[0] == "start":
		w.front.Start()
	case args[0] == "sql" && len(args) == 2:
		w.spanner.Exec(args[1])
	default:
		ts.Fatalf("unknown command spanner %q", args)
	}
}
