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

// hangup reports whether a signal says that a terminal has gone.
func hangup(sig os.Signal) bool { return sig == syscall.SIGHUP }

// byKey reports whether a key of a terminal sends this signal to end a program.
func byKey(sig os.Signal) bool { return sig == syscall.SIGINT || sig == syscall.SIGQUIT }
