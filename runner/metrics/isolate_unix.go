//go:build unix

package metrics

import (
	"os/signal"
	"syscall"
)

// isolate shields the program from what is meant for the job. It ends with its
// input.
func isolate() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP,
		syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGPIPE)
}
