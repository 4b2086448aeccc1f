//go:build darwin || freebsd || dragonfly

package clock

import "golang.org/x/sys/unix"

// On macOS CLOCK_MONOTONIC runs while the system is asleep, but CLOCK_UPTIME_RAW does
// not: see clock_gettime(3) there.
const bootClock = unix.CLOCK_MONOTONIC
