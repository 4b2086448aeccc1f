// Package isolate is for the programs that leaderrun starts beside a job and that end
// with their input: helpers and leaderrun-metrics.
package isolate

import (
	"os"
	"os/signal"
	"syscall"
)

// Process shields this process from the console's Ctrl-C, about which the core decides.
func Process() { signal.Ignore(os.Interrupt, syscall.SIGTERM) }
