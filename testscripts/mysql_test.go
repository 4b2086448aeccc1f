package testscripts

import (
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/leaderrun/leaderrun/locks/backend/mysql/mysqltest"
)

// cmdMySQL is the command
//
//	mysql
//	mysql stop|start
//	mysql sql STATEMENT
//
// The first form starts a server. $MYSQL is its address with $PORT, and LEADERRUN_BACKEND
// names it, as a user who may do everything. The other forms stop it, start it again, and run
// a statement there.
func cmdMySQL(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) <= 2, "mysql [stop|start|sql STATEMENT]")
	w := worldOf(ts)
	switch {
	case len(args) == 0:
		w.mysql = mysqltest.Start(w.tb)
		_, port, _ := strings.Cut(w.mysql.Addr(), ":")
		ts.Setenv("MYSQL", w.mysql.Addr())
		ts.Setenv("PORT", port)
		ts.Setenv("LEADERRUN_BACKEND", w.mysql.URL())
	case args[0] == "stop":
		w.mysql.Stop()
	case args[0] == "start":
		w.mysql.Start()
	case args[0] == "sql" && len(args) == 2:
		w.mysql.Exec(args[1])
	default:
		ts.Fatalf("unknown command mysql %q", args)
	}
}
