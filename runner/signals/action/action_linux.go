package action

import (
	"runtime"
	"syscall"
	"unsafe"
)

// The values of a handler that are not functions.
const (
	ByDefault uintptr = iota // SIG_DFL
	Ignored                  // SIG_IGN
)

// An Action has room for the kernel's struct sigaction.
type Action [8]uintptr

const mips = runtime.GOARCH == "mips" || runtime.GOARCH == "mipsle" || runtime.GOARCH == "mips64" || runtime.GOARCH == "mips64le"

// Handler returns the handler of an action. It can be changed.
func (a *Action) Handler() *uintptr {
	if mips {
		return &a[1]
	}
	return &a[0]
}

// Of returns the action of a signal, or false if there is no such signal.
func Of(sig syscall.Signal) (a Action, ok bool) { return a, sigaction(sig, nil, &a) }

// Set sets the action of a signal. It reports whether that was possible.
func (a *Action) Set(sig syscall.Signal) bool { return sigaction(sig, a, nil) }

func sigaction(sig syscall.Signal, now, before *Action) bool {
	setSize := unsafe.Sizeof(uint64(0))
	if mips {
		setSize *= 2
	}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(now)), uintptr(unsafe.Pointer(before)), setSize, 0, 0)
	return errno == 0
}
