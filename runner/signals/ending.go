package signals

import (
	"os"
	"slices"
	"syscall"
)

// Endings returns the signals that users send to end a program.
func Endings() []os.Signal {
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
}

// Ending reports whether a signal asks a process to end.
func Ending(sig os.Signal) bool { return slices.Contains(Endings(), sig) }
