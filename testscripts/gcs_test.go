package testscripts

import (
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcstest"
)

// cmdGCS is the command
//
//	gcs
//	gcs stop|start|age LOCK TIME|foreign LOCK|fail STATUS MESSAGE|heal
//
// The first form starts an emulator of Google Cloud Storage. $GCS is its address, which
// STORAGE_EMULATOR_HOST names, and LEADERRUN_BACKEND names a prefix in its bucket
// "locks". The second form stops and starts it, makes a lock's last
// change older, puts an object there that is not a lock, or makes all requests fail.
func cmdGCS(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg, "gcs [WHAT]")
	w := worldOf(ts)
	object := func() string { return ts.Getenv("NAME") + "/" + args[1] }
	switch {
	case len(args) == 0:
		w.gcs = gcstest.Start(w.tb)
		ts.Setenv("GCS", w.gcs.Addr())
		ts.Setenv("STORAGE_EMULATOR_HOST", w.gcs.Addr())
		ts.Setenv("LEADERRUN_BACKEND", "gcs://"+gcstest.Bucket+"/"+ts.Getenv("NAME"))
	case len(args) == 1 && args[0] == "stop":
		w.gcs.Stop()
	case len(args) == 1 && args[0] == "start":
		w.gcs.Start()
	case len(args) == 1 && args[0] == "heal":
		w.gcs.Fault(nil)
	case len(args) == 2 && args[0] == "foreign":
		w.gcs.SetMetadata(object(), map[string]string{"owner": "somebody"})
	case len(args) == 3 && args[0] == "age":
		d, err := time.ParseDuration(args[2])
		ts.Check(err)
		w.gcs.Age(object(), d)
	case len(args) > 2 && args[0] == "fail":
		status, err := strconv.Atoi(args[1])
		ts.Check(err)
		f := gcstest.Fault{Status: status, Message: strings.Join(args[2:], " ")}
		w.gcs.Fault(func(gcstest.Request) gcstest.Fault { return f })
	default:
		ts.Fatalf("unknown: gcs %q", args)
	}
}
