package signals

import (
	"os"
	"strings"
	"syscall"
)

// Name is a signal's name: "terminated".
func Name(sig os.Signal) string { return sig.String() }

// Parse finds a signal by its name, with SIG or without and in capitals or not, or by
// its number. It reports false if there is none. All that there are end a process.
func Parse(text string) (os.Signal, bool) {
	switch strings.TrimPrefix(strings.ToUpper(text), "SIG") {
	case "TERM", "15":
		return syscall.SIGTERM, true
	case "INT", "2":
		return os.Interrupt, true
	case "KILL", "9":
		return os.Kill, true
	}
	return nil, false
}

// Restore does nothing: no signal was changed.
func Restore() {}

// Names are those of all signals.
func Names() []string { return []string{"TERM", "INT", "KILL"} }
