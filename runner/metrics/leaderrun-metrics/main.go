// Leaderrun-metrics tells others how a run of leaderrun is, for its
// --metrics-listen and --metrics-file.
package main

import (
	"os"

	"github.com/leaderrun/leaderrun/runner/metrics"
)

func main() { os.Exit(metrics.Main(os.Args)) }
