package runner

import (
	"os"
	"syscall"
)

// ending reports whether a signal asks a process to end.
func ending(sig os.Signal) bool { return sig == os.Interrupt || sig == syscall.SIGTERM }

// hangup reports false: there is no such signal.
func hangup(os.Signal) bool { return false }

// byKey reports false: a console has no foreground.
func byKey(os.Signal) bool { return false }
