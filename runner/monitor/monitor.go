// Package monitor is the program leaderrun-monitor, which checks the health of a job's
// server and exports the metrics of a run. It is not part of the core, because package
// net/http would double the core's size, and because it must not delay a kill. It is not called
// leaderrun-http, because that would be the helper of a backend with addresses like http://.
//
// For metrics, the core writes a line for each event and renewal, through a queue that never
// blocks. Every 2 s it writes that it is well, from the goroutine that would end the job, as for
// systemd's watchdog. When the program is asked, it works out the answer from the deadline and
// the boot clock, which all processes share: so a core that is frozen does not lead for longer
// than its lease. When its input ends, it has a second to write its file. It does not belong to
// the job, so leaderrun does not kill it when the guard has failed (proc.OnDeath.NotOfJob).
package monitor

import (
	"fmt"
	"os"

	"github.com/leaderrun/leaderrun/locks/program/version"
	"github.com/leaderrun/leaderrun/runner/monitor/metrics"
)

const usage = `usage: leaderrun-monitor probe URL | probe tcp://HOST:PORT
       leaderrun-monitor --version`

// Main runs the subcommand that args names, after the program's own name, and returns the
// exit status, which is 64 if the arguments are invalid.
func Main(args []string) int {
	args = args[min(1, len(args)):]
	switch {
	case len(args) == 1 && args[0] == "probe" && os.Getenv("LEADERRUN_HEALTH") != "": // leaderrun itself runs this, as the target may have a password
		return probe(os.Getenv("LEADERRUN_HEALTH"))
	case len(args) == 2 && args[0] == "probe":
		return probe(args[1])
	case len(args) == 1 && args[0] == "metrics": // only leaderrun itself runs this
		return metrics.Main()
	case len(args) == 1 && args[0] == "--version":
		fmt.Println("leaderrun-monitor", version.Number())
		return 0
	}
	fmt.Fprintln(os.Stderr, usage)
	return 64
}
