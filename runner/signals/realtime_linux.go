package signals

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/leaderrun/leaderrun/runner/signals/action"
)

// The real-time signals that glibc leaves to programs: it uses 32 and 33 itself. Their
// names are their distances from both ends.
const (
	rtmin = syscall.Signal(34)
	rtmax = syscall.Signal(64)
	last  = rtmax
)

// realtimeName returns the name of a real-time signal, or "". It counts from the nearer
// end, as kill -l in bash does.
func realtimeName(s syscall.Signal) string {
	switch {
	case s == rtmin:
		return "RTMIN"
	case s == rtmax:
		return "RTMAX"
	case s > rtmin && s <= (rtmin+rtmax)/2:
		return fmt.Sprintf("RTMIN+%d", s-rtmin)
	case s > rtmin && s < rtmax:
		return fmt.Sprintf("RTMAX-%d", rtmax-s)
	}
	return ""
}

func parseRealtime(name string) (os.Signal, bool) {
	s := rtmin
	rest, ok := strings.CutPrefix(name, "RTMIN")
	sign := "+"
	if !ok {
		s, sign = rtmax, "-"
		rest, ok = strings.CutPrefix(name, "RTMAX")
	}
	if !ok || rest == "" {
		return s, ok
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(rest, sign), 10, 8)
	if err != nil || !strings.HasPrefix(rest, sign) || n > uint64(rtmax-rtmin) {
		return nil, false
	}
	if sign == "-" {
		return s - syscall.Signal(n), true
	}
	return s + syscall.Signal(n), true
}

// Realtime returns the real-time signals that can be caught: all except rtmin, which the Go
// runtime leaves to C libraries.
func Realtime() (all []os.Signal) {
	for s := rtmin + 1; s <= rtmax; s++ {
		all = append(all, s)
	}
	return all
}

// IgnoreRTMIN ignores rtmin, which would end us without a message and which the runtime does
// not let us catch. Processes that we start inherit that, unless they call [RestoreRTMIN].
func IgnoreRTMIN() { change(rtmin, action.ByDefault, action.Ignored) }

// RestoreRTMIN undoes IgnoreRTMIN.
func RestoreRTMIN() { change(rtmin, action.Ignored, action.ByDefault) }
