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
//
// The first form starts an emulator with a database without the table. $SPANNER is its
// address, $DATABASE the database, and LEADERRUN_BACKEND names both. The others create the
// table, and end all connections and accept them again.
func cmdSpanner(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) <= 1, "spanner [table|stop|start]")
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
	default:
		ts.Fatalf("unknown command spanner %q", args)
	}
}
