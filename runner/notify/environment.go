package notify

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The variables by which a service manager asks for notifications.
const (
	socketVariable   = "NOTIFY_SOCKET"
	intervalVariable = "WATCHDOG_USEC"
	processVariable  = "WATCHDOG_PID"
)

// JobEnvironment returns the environment of a process that we start. It lacks the watchdog and
// the socket, which are ours: if both of us sent READY=1, the manager could not know who is
// ready.
func JobEnvironment(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return key == intervalVariable || key == processVariable || key == socketVariable
	})
}

// watchdog returns the interval of the watchdog as sd_watchdog_enabled(3) does. It returns
// 0 if the watchdog is for another process, or the interval is infinity (2⁶⁴−1).
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

// value returns the value of a variable, or "".
func value(env []string, variable string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, variable+"="); ok {
			return v
		}
	}
	return ""
}
