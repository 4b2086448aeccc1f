package testscripts

import (
	"fmt"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// cmdGossip is the command
//
//	gossip
//
// LEADERRUN_BACKEND names one member of this machine, which is not there. A run is the first
// one, and others can join it.
func cmdGossip(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 0, "gossip")
	ts.Setenv("LEADERRUN_BACKEND", fmt.Sprintf("gossip://127.0.0.1:%d?min=1", realserver.FreePort(worldOf(ts).tb)))
}
