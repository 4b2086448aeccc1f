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

// signalName is a signal's name as kill(1) has it: "TERM".
func signalName(sig os.Signal) string {
	return strings.TrimPrefix(unix.SignalName(sig.(syscall.Signal)), "SIG")
}
