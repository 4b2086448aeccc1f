//go:build !linux

package signals

import (
	"os"
	"syscall"
)

const last = syscall.Signal(31)

func realtimeName(syscall.Signal) string { return "" }

func parseRealtime(string) (os.Signal, bool) { return nil, false }

// Realtime returns none: Go has no real-time signals here.
func Realtime() []os.Signal { return nil }

// IgnoreRTMIN does nothing.
func IgnoreRTMIN() {}

// RestoreRTMIN does nothing.
func RestoreRTMIN() {}
