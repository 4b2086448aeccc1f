package clock

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Each alarm has a timer of the kernel. Go's own timers stop in suspend, so without it a process
// has to look at the boot clock again and again, which took a holder most of its processor time.
// One timer for all alarms of a process would save microseconds per alarm, and a holder sets about
// one a second. But it would need a list, a lock and a goroutine that never ends, and a defect in
// them would delay all deadlines at once.

// Alarm implements [Waker], by a timer on CLOCK_BOOTTIME, as the kernel has none on a clock that
// is never slewed. It returns nil if the process can open no more files, or the
// kernel has no timers on this clock (before Linux 3.15).
func (Boot) Alarm(at Instant) Alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), "timer")
	left := at.Sub(Boot{}.Now())
	when := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(kernel(unix.CLOCK_BOOTTIME).Add(max(left, 1))))}
	if unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME, &when, nil) != nil {
		_ = f.Close()
		return nil
	}
	return kernelTimer{f}
}

// A kernelTimer is a file that can be read once its moment has come; see timerfd_create(2).
type kernelTimer struct{ file *os.File }

// Wait waits in Go's poller, and so occupies no thread.
func (k kernelTimer) Wait() {
	var fired [8]byte
	_, _ = k.file.Read(fired[:])
	_ = k.file.Close()
}

// Stop does not close the file, because Close would wait for the end of Read.
func (k kernelTimer) Stop() { _ = k.file.SetReadDeadline(time.Unix(1, 0)) }
