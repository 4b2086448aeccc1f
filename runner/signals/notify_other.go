//go:build !linux || !(amd64 || arm64)

package signals

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/leaderrun/leaderrun/runner/signals/action"
)

// Notify is like signal.Notify, which alone does not catch QUIT and ABRT; see package action.
// An empty list means none.
func Notify(c chan<- os.Signal, all ...os.Signal) {
	if len(all) == 0 {
		return
	}
	signal.Notify(c, all...)
	for _, sig := range all {
		action.Restore(sig.(syscall.Signal))
	}
}

// Stop is like signal.Stop.
func Stop(c chan<- os.Signal) { signal.Stop(c) }

// Drop catches signals and does nothing with them. Processes that we start do not inherit
// that.
func Drop(all ...os.Signal) { Notify(make(chan os.Signal, 1), all...) }
