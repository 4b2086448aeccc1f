package terminal

import (
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Suspend stops us as the job was stopped, and with us those with whom we share
// our group, and returns when we are continued. It reports false if we were not
// stopped: in a group that nobody could continue (an orphaned one), the signals
// of a terminal stop nobody.
//
// That rule is the kernel's, and so the signal is really sent, with its default
// action, and to all of the group at one moment: if the others were stopped
// first, they might be continued before we have stopped, and we for ever.
func (t *Terminal) Suspend(sig os.Signal) (was bool) {
	s := sig.(syscall.Signal)
	limit := time.Second
	switch s {
	case unix.SIGTSTP: // if it comes later, it is passed on, and the job stopped again
		limit = 100 * time.Millisecond
	case unix.SIGSTOP:
		s = unix.SIGTSTP
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	defer signal.Stop(continued)
	byDefault(s, func() {
		_ = unix.Kill(0, s)
		select {
		case <-continued:
			was = true
		case <-time.After(limit):
		}
	})
	return was
}

// ignored is SIG_IGN; SIG_DFL is 0.
const ignored uintptr = 1

// An action is the kernel's struct sigaction, or more than that.
type action [8]uintptr

// handler is where the handler is in it.
func handler() int {
	if strings.HasPrefix(runtime.GOARCH, "mips") {
		return 1
	}
	return 0
}

// byDefault calls f while a signal has its default action, which package signal
// cannot arrange: what it has once caught it catches for ever.
func byDefault(sig syscall.Signal, f func()) {
	var before action
	if !sigaction(sig, nil, &before) {
		return
	}
	now := before
	now[handler()] = 0
	if sigaction(sig, &now, nil) {
		f()
		sigaction(sig, &before, nil)
	}
}

func sigaction(sig syscall.Signal, now, before *action) bool {
	setSize := unsafe.Sizeof(uint64(0))
	if handler() != 0 {
		setSize *= 2
	}
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(now)), uintptr(unsafe.Pointer(before)), setSize, 0, 0)
	return errno == 0
}

// Ignored reports whether we were started with a signal of a terminal ignored,
// which package signal does not know of those that stop. It must be asked before
// they are caught.
func Ignored(sig os.Signal) bool {
	var a action
	return sigaction(sig.(syscall.Signal), nil, &a) && a[handler()] == ignored
}
