// Package isolate is for the programs that leaderrun runs next to a job, and that end when
// their input does: helpers and leaderrun-monitor.
package isolate

import (
	"os"
	"os/signal"
	"syscall"
)

// Process shields this process from the console's Ctrl-C, about which the core decides.
func Process() { signal.Ignore(os.Interrupt, syscall.SIGTERM) }
