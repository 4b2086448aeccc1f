package signals

import (
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The values of a handler that are not functions.
const (
	byDefault uintptr = iota // SIG_DFL
	ignored                  // SIG_IGN
)

// An action has room for the kernel's struct sigaction.
type action [8]uintptr

// handler returns the index of the handler in an action.
func handler() int {
	if strings.HasPrefix(runtime.GOARCH, "mips") {
		return 1
	}
	return 0
}

// ByDefault calls f while a signal has its default action. Package signal cannot do that: it
// never gives up a signal that it has caught once.
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

// change sets the handler of a signal to the value to, if it is from.
func change(sig syscall.Signal, from, to uintptr) {
	var a action
	if sigaction(sig, nil, &a) && a[handler()] == from {
		a[handler()] = to
		sigaction(sig, &a, nil)
	}
}

// Ignored reports whether a signal was ignored when we were started. The runtime does not
// know that of the signals by which a terminal suspends. It must be called before the
// signal is caught.
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
