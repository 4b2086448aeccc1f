package signals

import (
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Handlers that are none.
const (
	byDefault uintptr = iota // SIG_DFL
	ignored                  // SIG_IGN
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

// ByDefault calls f while a signal has its default action, which package signal
// cannot arrange: what it has once caught it catches for ever.
func ByDefault(sig syscall.Signal, f func()) {
	var before action
	if !sigaction(sig, nil, &before) {
		return
	}
	now := before
	now[handler()] = byDefault
	if sigaction(sig, &now, nil) {
		f()
		sigaction(sig, &before, nil)
	}
}

// change replaces a handler that a signal has.
func change(sig syscall.Signal, from, to uintptr) {
	var a action
	if sigaction(sig, nil, &a) && a[handler()] == from {
		a[handler()] = to
		sigaction(sig, &a, nil)
	}
}

// Ignored reports whether we were started with a signal ignored of which the runtime
// takes no note: those of a terminal that stop. It must be asked before they are caught.
func Ignored(sig os.Signal) bool {
	var a action
	return sigaction(sig.(syscall.Signal), nil, &a) && a[handler()] == ignored
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
