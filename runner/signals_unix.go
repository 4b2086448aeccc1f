//go:build unix

package runner

import (
	"os"
	"syscall"
)

// ending reports whether a signal asks a process to end.
func ending(sig os.Signal) bool {
	switch sig {
	case syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT:
		return true
	}
	return false
}

// hangup reports whether a signal is the one for the end of a terminal.
func hangup(sig os.Signal) bool { return sig == syscall.SIGHUP }

// byKey reports whether a signal is one by which a key of a terminal ends a program.
func byKey(sig os.Signal) bool { return sig == syscall.SIGINT || sig == syscall.SIGQUIT }
