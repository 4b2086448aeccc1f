//go:build !linux

package signals

import (
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func dumpNoCore() { _ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }

// raise returns if the signal has not ended us in a second. The Go runtime dies only of these
// signals as other programs do.
func raise(s syscall.Signal, group bool) {
	switch s {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM:
	default:
		return
	}
	signal.Reset(s)
	if group {
		_ = unix.Kill(0, s)
	}
	_ = unix.Kill(unix.Getpid(), s)
	time.Sleep(time.Second)
}
