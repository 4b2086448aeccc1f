package signals

import (
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Name returns the name of a signal without SIG: "TERM", "RTMIN+3". Signal 0, which
// kill(2) does not send, has the name "0".
func Name(sig os.Signal) string {
	s := sig.(syscall.Signal)
	if s == 0 {
		return "0"
	}
	if name := unix.SignalName(s); name != "" {
		return strings.TrimPrefix(name, "SIG")
	}
	return realtimeName(s)
}

// Parse returns the signal with a name or a number. The name may have the prefix SIG, in
// upper or lower case.
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

// Names returns the names of all signals, in the order of their numbers.
func Names() (all []string) {
	for s := syscall.Signal(1); s <= last; s++ {
		if name := Name(s); name != "" {
			all = append(all, name)
		}
	}
	return all
}
