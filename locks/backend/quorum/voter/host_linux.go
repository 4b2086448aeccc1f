package voter

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// checkVolatile returns an error unless a directory is empty after a reboot. On a disk, or in an
// image or a volume, promises could be those of another machine or time.
func checkVolatile(dir string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	if fs.Type != unix.TMPFS_MAGIC && fs.Type != unix.RAMFS_MAGIC {
		return fmt.Errorf("%s is not on a tmpfs, so promises would survive a reboot; name a directory below /run", dir)
	}
	return nil
}

// epoch names the clock on which promises are: see [clock.Epoch].
func epoch() string { return clock.Epoch() }

// drift is how far the date is ahead of the boot clock. It changes only when somebody sets the
// date. A virtual machine that is resumed from a snapshot has the same boot id, and has forgotten
// what it has promised since; its date is set forward then.
func drift() time.Duration {
	var real, boot unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_REALTIME, &real) // neither can fail
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot)
	return time.Duration(real.Nano() - boot.Nano())
}

// Rate returns by how much the kernel corrects the rate of the clock by which leases are counted,
// as a share: how wrong that clock is, if the date is kept by NTP. See adjtimex(2).
func Rate() (share float64, ok bool) {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil || t.Tick == 0 {
		return 0, false
	}
	const hz, scale = 100, 1 << 16 // USER_HZ; freq is in ppm with 16 bits after the point
	return float64(t.Tick-1_000_000/hz)*hz/1e6 + float64(t.Freq)/scale/1e6, true
}
