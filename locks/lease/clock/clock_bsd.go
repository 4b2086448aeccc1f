//go:build darwin || freebsd || dragonfly

package clock

import "golang.org/x/sys/unix"

// On macOS CLOCK_MONOTONIC goes on while the system is asleep, and
// CLOCK_UPTIME_RAW does not: clock_gettime(3) there.
const bootClock = unix.CLOCK_MONOTONIC
