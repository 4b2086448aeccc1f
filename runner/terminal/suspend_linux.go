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
// action. To this very thread: then it has had its effect when tgkill returns.
func (t *Terminal) Suspend(sig os.Signal) bool {
	s := sig.(syscall.Signal)
	limit := time.Second
	switch s {
	case unix.SIGTSTP: // whether it had an effect matters little
		limit = 20 * time.Millisecond
	case unix.SIGSTOP:
		s = unix.SIGTSTP
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	defer signal.Stop(continued)

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	during(s, ignored, func() { _ = unix.Kill(0, s) })
	during(s, byDefault, func() { _ = unix.Tgkill(unix.Getpid(), unix.Gettid(), s) })
	select {
	case <-continued:
		return true
	case <-time.After(limit):
		return false
	}
}

// What a process may do about a signal: SIG_DFL and SIG_IGN.
const (
	byDefault uintptr = 0
	ignored   uintptr = 1
)

// An action is the kernel's struct sigaction, or more than that.
type action [8]uintptr

// handler is where the handler is in it.
func handler() int {
	if strings.HasPrefix(runtime.GOARCH, "mips") {
		return 1
	}
	return 0
}

// during calls f while a signal has another action than Go's runtime gave it,
// which package signal cannot arrange: what it has once caught it catches for
// ever. Nothing is started meanwhile that could inherit it.
func during(sig syscall.Signal, what uintptr, f func()) {
	var before action
	if !sigaction(sig, nil, &before) {
		return
	}
	now := before
	now[handler()] = what
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
