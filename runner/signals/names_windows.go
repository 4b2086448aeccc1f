package signals

import (
	"os"
	"strings"
	"syscall"
)

// Name returns the name of a signal: "terminated".
func Name(sig os.Signal) string { return sig.String() }

// Parse returns the signal with a name or a number. The name may have the prefix SIG, in
// upper or lower case. Every signal ends a process here.
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

// RestoreRTMIN does nothing: no signal was changed.
func RestoreRTMIN() {}

// Names returns the names of all signals.
func Names() []string { return []string{"TERM", "INT", "KILL"} }

// Die does nothing: a process does not die of a signal here.
func Die(os.Signal, bool) {}
