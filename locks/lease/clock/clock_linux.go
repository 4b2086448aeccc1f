package clock

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// CLOCK_BOOTTIME, like CLOCK_MONOTONIC, is slewed while the date is corrected: by a twelfth with
// chrony's default, by a tenth at most. CLOCK_MONOTONIC_RAW never is, but stops in suspend. So we
// add the time in suspend, by which CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC: both are slewed
// alike. In a time namespace, its offset of CLOCK_BOOTTIME is in that sum.
func bootNow() Instant { return kernel(unix.CLOCK_MONOTONIC_RAW).Add(suspended()) }

// slept is for how long the machine was suspended when we last looked, in nanoseconds. Without it
// Instants would go back by the time between two readings of the kernel's clocks.
var slept atomic.Int64

// suspended returns for how long the machine was suspended.
func suspended() time.Duration {
	const closely = time.Millisecond // two readings of one moment, unless we are interrupted
	before := kernel(unix.CLOCK_MONOTONIC)
	for {
		boot, after := kernel(unix.CLOCK_BOOTTIME), kernel(unix.CLOCK_MONOTONIC)
		known, now := time.Duration(slept.Load()), boot.Sub(before)
		if (now - known).Abs() < closely {
			return known
		}
		if after.Sub(before) < closely {
			slept.Store(int64(now))
			return now
		}
		before = after
	}
}

// kernel reads one of the kernel's clocks.
func kernel(id int32) Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		panic("clock: read the boot clock: " + err.Error())
	}
	return Instant(ts.Nano())
}
