//go:build unix

package signals

import (
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Name is a signal's name without SIG: "TERM", "RTMIN+3".
func Name(sig os.Signal) string {
	s := sig.(syscall.Signal)
	if name := unix.SignalName(s); name != "" {
		return strings.TrimPrefix(name, "SIG")
	}
	return realtimeName(s)
}

// Parse finds a signal by its name, with SIG or without and in capitals or not, or by
// its number. It reports false if there is none.
func Parse(text string) (os.Signal, bool) {
	if n, err := strconv.Atoi(text); err == nil {
		s := syscall.Signal(n)
		return s, Name(s) != ""
	}
	name := strings.TrimPrefix(strings.ToUpper(text), "SIG")
	if s := unix.SignalNum("SIG" + name); s != 0 {
		return s, true
	}
	return parseRealtime(name)
}

// Names are those of all signals, by their numbers.
func Names() (all []string) {
	for s := syscall.Signal(1); s <= last; s++ {
		if name := Name(s); name != "" {
			all = append(all, name)
		}
	}
	return all
}
