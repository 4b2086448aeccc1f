//go:build unix

package testscripts

import (
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/leaderrun/leaderrun/locks/backend/gossip/gossiptest"
)

// cmdGossip is the command
//
//	gossip [start|stop]
//
// The first form chooses three seats; LEADERRUN_BACKEND names them. The others start three
// voters in these seats, and stop them.
func cmdGossip(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) <= 1, "gossip [start|stop]")
	w := worldOf(ts)
	switch {
	case len(args) == 0:
		w.gossip = gossiptest.New(w.tb, 3, 2*time.Second)
		ts.Setenv("LEADERRUN_BACKEND", w.gossip.URL())
	case args[0] == "start":
		w.gossip.Start()
	case args[0] == "stop":
		w.gossip.Stop()
	default:
		ts.Fatalf("unknown command gossip %q", args)
	}
}
