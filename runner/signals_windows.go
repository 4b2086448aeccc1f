package runner

import (
	"os"
	"syscall"
)

// ending reports whether a signal asks a process to end.
func ending(sig os.Signal) bool { return sig == os.Interrupt || sig == syscall.SIGTERM }

// hangup returns false: Windows has no such signal.
func hangup(os.Signal) bool { return false }

// byKey returns false: a console has no foreground group.
func byKey(os.Signal) bool { return false }
