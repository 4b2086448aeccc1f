package testscripts

import (
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/leaderrun/leaderrun/locks/backend/azblob/azblobtest"
)

// cmdAzblob is the command
//
//	azblob
//	azblob stop|start|break LOCK|lease LOCK
//
// The first form starts an emulator of Azure Blob Storage. $AZBLOB is its address as a
// parameter endpoint=, AZURE_STORAGE_KEY is its key, and LEADERRUN_BACKEND names a prefix in
// its container "locks". The second stops and starts it, breaks the lease on a lock's blob, or
// takes one without end, as another program would.
func cmdAzblob(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg, "azblob [WHAT]")
	w := worldOf(ts)
	leaseOn := func(lock string) *lease.BlobClient {
		c, err := lease.NewBlobClient(w.azblob.NewBlobClient(ts.Getenv("NAME")+"/"+lock), nil)
		ts.Check(err)
		return c
	}
	switch {
	case len(args) == 0:
		w.azblob = azblobtest.Start(w.tb)
		u := azblobtest.URL(w.azblob.Addr(), ts.Getenv("NAME"))
		ts.Setenv("AZBLOB", u.Query().Get("endpoint"))
		ts.Setenv("AZURE_STORAGE_KEY", azblobtest.Key)
		ts.Setenv("LEADERRUN_BACKEND", u.String())
	case len(args) == 1 && args[0] == "stop":
		w.azblob.Stop()
	case len(args) == 1 && args[0] == "start":
		w.azblob.Start()
	case len(args) == 2 && args[0] == "break":
		var now int32
		_, err := leaseOn(args[1]).BreakLease(w.tb.Context(), &lease.BlobBreakOptions{BreakPeriod: &now})
		ts.Check(err)
	case len(args) == 2 && args[0] == "lease":
		_, err := leaseOn(args[1]).AcquireLease(w.tb.Context(), lease.BreakNaturally, nil) // -1: without end
		ts.Check(err)
	default:
		ts.Fatalf("unknown: azblob %q", args)
	}
}
