package terminal

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	getModes = unix.TCGETS
	setModes = unix.TCSETS
)

// Undisturbed lets the goroutine write to a terminal that we are in the
// background of, and change it. SIGTTOU would stop all of us. It is blocked in
// this thread, which is the goroutine's own from now on; children inherit
// nothing of that, as Go starts them with the mask that it began with.
func Undisturbed() {
	runtime.LockOSThread()
	_ = unix.PthreadSigmask(unix.SIG_BLOCK, ttou(), nil)
}

// unstopped calls f likewise.
func unstopped(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, ttou(), &before); err != nil {
		return err
	}
	defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) }()
	return f()
}

func ttou() *unix.Sigset_t {
	bits := int(unsafe.Sizeof(unix.Sigset_t{}.Val[0])) * 8
	var set unix.Sigset_t
	set.Val[(int(unix.SIGTTOU)-1)/bits] |= 1 << ((int(unix.SIGTTOU) - 1) % bits)
	return &set
}
