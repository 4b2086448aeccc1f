//go:build unix

package clock

import "golang.org/x/sys/unix"

func bootNow() Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(bootClock, &ts); err != nil {
		panic("clock: read the boot clock: " + err.Error())
	}
	return Instant(ts.Nano())
}
