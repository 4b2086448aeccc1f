//go:build darwin || freebsd || dragonfly

package clock

import "golang.org/x/sys/unix"

// On macOS CLOCK_MONOTONIC runs while the system is asleep, but CLOCK_UPTIME_RAW does
// not: see clock_gettime(3) there.
func bootNow() Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("clock: read the boot clock: " + err.Error())
	}
	return Instant(ts.Nano())
}
