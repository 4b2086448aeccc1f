package testscripts

import (
	"net/http"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/leaderrun/leaderrun/locks/backend/kubernetes/kubetest"
)

// cmdKubernetes is the command
//
//	k8s
//	k8s stop|start
//	k8s elector LEASE IDENTITY
//	k8s get LEASE
//
// The first form starts an API server. KUBECONFIG has its address and the administrator's token,
// LEADERRUN_BACKEND names its namespace test-1, and $K8S is its address. The others stop it and
// start it again; set $ELECTOR to a command line that takes part in client-go's leader election,
// and writes elector.out; and write a Lease to the file LEASE.json.
func cmdKubernetes(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) <= 3, "k8s [stop|start|elector LEASE IDENTITY|get LEASE]")
	w := worldOf(ts)
	switch {
	case len(args) == 0:
		w.k8s = kubetest.Start(w.tb)
		u := w.k8s.URL(w.k8s.Addr(), w.k8s.Namespace(), kubetest.AsAdmin())
		ts.Setenv("K8S", w.k8s.Addr())
		ts.Setenv("KUBECONFIG", u.Query().Get("kubeconfig"))
		ts.Setenv("LEADERRUN_BACKEND", "k8s://"+u.Path)
	case args[0] == "stop":
		w.k8s.Stop()
	case args[0] == "start":
		w.k8s.Start()
	case args[0] == "get" && len(args) == 2:
		text := w.k8s.Do(http.MethodGet, kubetest.Leases("test-1")+"/"+args[1], nil)
		ts.Check(os.WriteFile(ts.MkAbs(args[1]+".json"), []byte(text), 0o600))
	case args[0] == "elector" && len(args) == 3:
		ts.Setenv("ELECTOR", strings.Join([]string{"exec", kubetest.Elector(w.tb), ts.Getenv("KUBECONFIG"), "test-1", args[1], args[2], "3 >elector.out"}, " "))
	default:
		ts.Fatalf("unknown command k8s %q", args)
	}
}
