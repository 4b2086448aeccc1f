// Leaderrun-monitor checks the health of a server, for leaderrun's --health, and exports the
// metrics of a run, for --metrics-listen and --metrics-file.
package main

import (
	"os"

	"github.com/leaderrun/leaderrun/runner/monitor"
)

func main() { os.Exit(monitor.Main(os.Args)) }
