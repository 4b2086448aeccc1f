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

// Undisturbed lets the goroutine write to our terminal and change it while we are in the
// background, where SIGTTOU would suspend our group. It blocks SIGTTOU in this thread, and
// locks the goroutine to the thread. Children do not inherit that, because Go starts them
// with its original signal mask.
func Undisturbed() {
	runtime.LockOSThread()
	_ = unix.PthreadSigmask(unix.SIG_BLOCK, ttou(), nil)
}

// withoutTTOU calls f while SIGTTOU is blocked.
func withoutTTOU(f func() error) error {
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
