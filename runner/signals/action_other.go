//go:build !linux

package signals

import (
	"os"
	"os/signal"
)

// Ignored reports whether a signal is ignored.
func Ignored(sig os.Signal) bool { return signal.Ignored(sig) }
