package clock

import (
	"os"

	"golang.org/x/sys/unix"
)

// newAlarm returns a file that can be read when the boot clock has reached the given moment,
// which is after the zero Instant: a timer of the kernel, see timerfd_create(2). A read waits
// in Go's poller, and so occupies no thread.
//
// newAlarm returns nil if the process can open no more files, or the kernel has no such timers
// on this clock (before Linux 3.15).
func newAlarm(at Instant) *os.File {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), "timer")
	when := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(at))}
	if unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME, &when, nil) != nil {
		_ = f.Close()
		return nil
	}
	return f
}
