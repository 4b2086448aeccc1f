package notify

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The variables by which a manager says that it wants to hear of a service.
const (
	socketVariable   = "NOTIFY_SOCKET"
	intervalVariable = "WATCHDOG_USEC"
	processVariable  = "WATCHDOG_PID"
)

// JobEnvironment is the environment of a process that we start. The watchdog is
// always ours. The socket is, too, unless it is shared: two services that both
// say READY=1 would make neither true.
func JobEnvironment(env []string, shared bool) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return key == intervalVariable || key == processVariable || key == socketVariable && !shared
	})
}

// watchdog reads an interval as sd_watchdog_enabled(3) does: it is none of ours
// if it is for another process, and 2⁶⁴−1 is infinity.
func watchdog(env []string, pid int) time.Duration {
	if of := value(env, processVariable); of != "" && of != strconv.Itoa(pid) {
		return 0
	}
	usec, err := strconv.ParseUint(value(env, intervalVariable), 10, 64)
	if err != nil || usec > math.MaxInt64/uint64(time.Microsecond) {
		return 0
	}
	return time.Duration(usec) * time.Microsecond
}

// value is that of a variable, or "".
func value(env []string, variable string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, variable+"="); ok {
			return v
		}
	}
	return ""
}
