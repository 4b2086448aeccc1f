package testscripts

import (
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/leaderrun/leaderrun/locks/backend/consul/consultest"
)

// cmdConsul is the command
//
//	consul
//	consul stop|start
//
// The first form starts a server with ACLs. $CONSUL is its address, LEADERRUN_BACKEND names
// it, and CONSUL_HTTP_ADDR and CONSUL_HTTP_TOKEN make the program consul work. The second
// stops it and starts it again.
func cmdConsul(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) <= 1, "consul [stop|start]")
	w := worldOf(ts)
	switch {
	case len(args) == 0:
		const token = "12345678-1234-1234-1234-123456789abc"
		w.consul = consultest.Start(w.tb, consultest.Options{Token: token})
		ts.Setenv("CONSUL", w.consul.Addr())
		ts.Setenv("LEADERRUN_BACKEND", w.consul.URL())
		ts.Setenv("CONSUL_HTTP_ADDR", w.consul.Addr())
		ts.Setenv("CONSUL_HTTP_TOKEN", token)
		ts.Setenv("PATH", filepath.Dir(consultest.Binary(w.tb))+string(filepath.ListSeparator)+ts.Getenv("PATH"))
	case args[0] == "stop":
		w.consul.Stop()
	case args[0] == "start":
		w.consul.Start()
	default:
		ts.Fatalf("unknown command consul %q", args)
	}
}
