// Leaderrun-probe asks a server whether it is well, for leaderrun's
// --health-http and --health-tcp.
package main

import (
	"os"

	"github.com/leaderrun/leaderrun/runner/probe"
)

func main() { os.Exit(probe.Main(os.Args)) }
