//go:build unix

package env

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Catch catches signals, but for those that we were started with ignored.
func Catch(to chan<- os.Signal, all []os.Signal) {
	all = slices.DeleteFunc(all, signal.Ignored)
	if len(all) > 0 { // none would mean every signal
		signal.Notify(to, all...)
	}
}

// Survive keeps us alive when what we write to goes away or is full: standard
// error that is a closed pipe, a file at the limit of its size. The signals are
// about ourselves, and are dropped. They are caught rather than ignored, as the
// job would inherit that.
func Survive() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGXFSZ) }

// endings are the signals by which a user ends a program.
func endings() []os.Signal {
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
}
