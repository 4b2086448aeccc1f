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

// Stops gets a value when we are to stop: Ctrl-Z.
func Stops() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	Catch(c, []os.Signal{syscall.SIGTSTP})
	return c
}

// Stop stops us, and returns when we are continued. The signal alone would not do:
// it takes a moment to reach all threads.
func Stop() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if syscall.Kill(os.Getpid(), syscall.SIGSTOP) == nil {
		<-continued
	}
}
