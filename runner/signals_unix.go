//go:build unix

package runner

import (
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
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

// signalName is a signal's name as kill(1) has it: "TERM".
func signalName(sig os.Signal) string {
	return strings.TrimPrefix(unix.SignalName(sig.(syscall.Signal)), "SIG")
}
